"""The model of attempts: how they begin, what happens meanwhile, and how they end (7)."""

from __future__ import annotations

from tests.model.endpoint import Endpoint
from tests.model.facts import (
    EFFECTS,
    KILLED,
    LEASE_S,
    NO_EFFECT,
    OUTLIVES_MS,
    PERFORMED,
    PERFORMING,
    UNDONE,
    UNKNOWN,
    Expected,
    Operation,
    Revision,
    Run,
)


class Attempts(Endpoint):
    """Performing one approved revision, in the database or outside."""

    def perform(self, revision: Revision, run: Run) -> Expected | None:
        """Begin, run and end an attempt; ``None``: the terms were others by then (check 3)."""
        operation, self.running = revision.operation, revision
        effects = EFFECTS[operation.action]
        operation.moves_on()
        operation.state, operation.in_use, operation.is_unknown = PERFORMING, revision, False
        longer = operation.lease_s if effects == "database" else 0
        operation.lease_s = max(LEASE_S[effects], longer)
        operation.lease_until = self.now + operation.lease_s * 1000
        if effects == "database":
            return self.in_database(revision, run)
        return self.outside(revision, run)

    def in_database(self, revision: Revision, run: Run) -> Expected | None:
        """All or nothing."""
        operation = revision.operation
        if run.in_between in {"gone", "dearer", "cheaper"}:
            self.reopen(operation)
            if run.in_between == "gone":
                return Expected("site", status=410)
            self.prices[revision.terms[0]] += 1 if run.in_between == "dearer" else -1
            return None
        if run.ending in KILLED:
            return Expected("killed")
        if run.ending in UNDONE["database"]:
            self.reopen(operation)
            return Expected("site", operation, status=UNDONE["database"][run.ending] or 0)
        self.effects.append(revision)
        self.end(operation, revision, "own")
        return Expected("site", operation)

    def outside(self, revision: Revision, run: Run) -> Expected:
        """What happened outside is never undone, and what is not known is not judged."""
        operation, mine, took = revision.operation, revision.operation.attempt, 0
        if run.when == "before":
            took = self.meanwhile(revision, run.what, happened=False)
        if run.ending not in NO_EFFECT:
            self.effects.append(revision)
            if run.when == "after":
                took = self.meanwhile(revision, run.what, happened=True)
        is_mine = operation.state == PERFORMING and operation.attempt == mine
        if run.ending in KILLED:
            return Expected("killed")
        if run.ending in UNDONE["external"] | UNKNOWN:
            return self.without_success(operation, run.ending, is_mine=is_mine)
        if operation.state != PERFORMED:
            self.end(operation, revision, "own", took)
        return Expected("site", operation)

    def without_success(self, operation: Operation, ending: str, *, is_mine: bool) -> Expected:
        """Nothing happened, or nobody knows; what others found out meanwhile stands."""
        if operation.state == PERFORMED:
            return Expected("stored", operation)
        status = UNDONE["external"].get(ending)
        if status is None:
            operation.is_unknown = operation.is_unknown or is_mine
            return self.performing(operation)
        if is_mine:
            self.reopen(operation)
        return Expected("site", operation, status=status)

    def meanwhile(self, revision: Revision, what: str, *, happened: bool) -> int:
        """What happens while the site's code runs, and how long that takes."""
        operation, arrived = revision.operation, self.now
        if what.startswith("outlive"):
            self.now += OUTLIVES_MS
        examined = (operation, operation.attempt)
        if what == "outlive and settle":
            assert self.settle(*examined, happened=happened)
        if what == "outlive and reconcile":
            self.reconcile()
        if operation.interface == "website":
            self.during.append(self.look_up(operation.owner, revision, declared=True))
        elif operation.state == PERFORMED:
            self.during.append(Expected("stored", operation))
        elif operation.state == PERFORMING:
            self.during.append(self.performing(operation))
        took = self.now - arrived
        self.now = arrived  # What the request that runs decides, it decides by its arrival.
        return took

    def performing(self, operation: Operation) -> Expected:
        """Nobody may say that it failed (7)."""
        wait_s = 60 if operation.is_unknown else 2
        return Expected("performing", operation, status=503, retry_after=wait_s)
