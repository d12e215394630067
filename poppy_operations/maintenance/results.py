"""What maintenance has done or found, for people and for machines."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from poppy_operations.lifecycle.durable import Busy

logger = logging.getLogger("poppy_operations")


@dataclass(frozen=True)
class Purged:
    """How many operations and browser joins were forgotten, or would be."""

    operations: int
    joins: int


@dataclass(frozen=True)
class Reconciled:
    """How the attempts that could be judged ended, and how many were enqueued again."""

    performed: int = 0
    not_performed: int = 0
    still_unknown: int = 0
    freed: int = 0
    requeued: int = 0


class Interrupted(Busy):
    """The database could not be used any more; ``done`` is what was done before, and stays."""

    def __init__(self, done: Purged | Reconciled) -> None:
        super().__init__(done)
        self.done = done

    def __str__(self) -> str:
        numbers = (f"{name.replace('_', ' ')} {n}" for name, n in counts(self.done).items())
        done = f"Done before, and it stays: {', '.join(numbers)}."
        fault = f"The database is locked, unreachable or read-only: {self.__cause__}."
        return f"{fault} {done}{self.advice}"


@dataclass(frozen=True)
class Stuck:
    """An operation that does not end by itself; ``why`` says what it waits for.

    Somebody has to find out what became of it, unless the next request frees it. ``admin_path`` is
    empty if the admin is not installed.
    """

    operation_id: str
    action: str
    interface: str
    since: datetime
    why: str
    needs_somebody: bool
    next_step: str
    idempotency_key: str
    client_id: str | None
    account: str | None
    admin_path: str


def counts(result: Purged | Reconciled) -> dict[str, int]:
    """Give the figures of a result by name."""
    return asdict(result)


def as_json(result: Purged | Reconciled | Sequence[Stuck]) -> str:
    """Spell a result for machines; a time as ISO 8601."""
    if isinstance(result, Purged | Reconciled):
        return json.dumps(counts(result))
    return json.dumps([asdict(item) for item in result], default=datetime.isoformat)
