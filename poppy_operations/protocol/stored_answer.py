"""What is kept of an answer, to give it again (7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class StoredAnswer:
    """The answer to give again: status, headers and, if it can be stored, the body."""

    status: int
    headers: Sequence[tuple[str, str]] = ()
    body: bytes | None = None
