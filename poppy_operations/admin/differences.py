"""What changed between two revisions: the paths of their terms, before and after."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Difference:
    """One value that changed. ``before`` or ``after`` is ``None`` if it was not there then."""

    path: str
    before: str | None
    after: str | None


def differences(before: str, after: str) -> list[Difference]:
    """Compare two canonical JSON texts, value by value, in the order of their paths."""
    old, new = dict(_leaves(json.loads(before))), dict(_leaves(json.loads(after)))
    return [
        Difference(path, *_shown(old.get(path), new.get(path)))
        for path in sorted(old.keys() | new.keys())
        if old.get(path) != new.get(path)
    ]


def differing_names(before: str, after: str) -> list[str]:
    """Name the fields of two requests that differ, by the digests that are kept of them."""
    old, new = json.loads(before), json.loads(after)
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Give each value that holds no other, as JSON, in which 1, "1" and true differ."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{index}]")
    elif path:
        yield path, json.dumps(value, ensure_ascii=False)


def _shown(before: str | None, after: str | None) -> tuple[str | None, str | None]:
    """Show text without its quotes, unless that would make both look alike."""
    plain = _unquoted(before), _unquoted(after)
    return (before, after) if plain[0] == plain[1] else plain


def _unquoted(value: str | None) -> str | None:
    return value if value is None or not value.startswith('"') else json.loads(value)
