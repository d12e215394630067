"""The model's ground: what the Company knows, what ends by itself, and what operators do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.model.facts import (
    DAY_S,
    EFFECTS,
    LIFETIME_S,
    LONGEST_LEASE_S,
    OPEN,
    PERFORMED,
    PERFORMING,
    Expected,
    Operation,
    Owner,
    Revision,
    Want,
    key_of,
)


@dataclass
class Ground:
    """What the Company knows, and what all its rules are made of."""

    cap: int
    now: int
    needed: bool = True
    limit: int = 0
    prices: dict[str, int] = field(default_factory=lambda: {"a": 10, "b": 20})
    declines: tuple[str, ...] = ()
    forbidden: str = ""
    hook: str = "truth"
    operations: list[Operation] = field(default_factory=list)
    ungated: list[tuple[str, int, int]] = field(default_factory=list)
    effects: list[Revision] = field(default_factory=list)
    during: list[Expected] = field(default_factory=list)
    revisions: int = 0
    recordings: int = 0
    running: Revision | None = None
    voided: Revision | None = None
    seen: list[Revision] | None = None

    @property
    def now_s(self) -> int:
        """The whole second that decides (AMB-16)."""
        return self.now // 1000

    def terms(self, want: Want) -> tuple[str, int, int]:
        """Today's terms."""
        return (want.item, want.quantity, self.prices[want.item] * want.quantity)

    def is_needed(self, terms: tuple[str, int, int]) -> bool:
        """Whether the site asks for approval of what costs so much."""
        return self.needed and terms[2] >= self.limit

    def is_forbidden(self, want: Want) -> bool:
        """Whether the site lets nobody ask for it now."""
        return want.item == self.forbidden

    def is_expired(self, revision: Revision) -> bool:
        """Whether an approval of it comes too late."""
        return self.now_s > revision.expires_s

    def is_fresh(self, revision: Revision) -> bool:
        """Whether at least half of its lifetime is left."""
        return not self.is_expired(revision) and revision.expires_s - self.now_s >= LIFETIME_S / 2

    def live(self, owner: Owner) -> list[Operation]:
        """The owner's operations that are not performed."""
        return [op for op in self.operations if op.owner == owner and op.state != PERFORMED]

    def all_revisions(self) -> Iterator[Revision]:
        """Every revision that is remembered, the oldest first."""
        for operation in self.operations:
            yield from operation.revisions

    def is_lapsed(self, operation: Operation) -> bool:
        """Whether a database attempt outlived its lease, and so can never commit."""
        return (
            operation.state == PERFORMING
            and EFFECTS[operation.action] == "database"
            and operation.lease_until < self.now
        )

    def meet(self, operation: Operation) -> None:
        """Whoever meets a lapsed attempt opens its operation again; the next lease is longer."""
        if self.is_lapsed(operation):
            operation.lease_s = min(operation.lease_s * 2, LONGEST_LEASE_S)
            self.reopen(operation)

    def reopen(self, operation: Operation) -> None:
        """An attempt ended without effect."""
        operation.state, operation.in_use, operation.is_unknown = OPEN, None, False
        operation.moves_on()

    def slot(self, owner: Owner, interface: str, want: Want) -> Operation | None:
        """The live operation that a request without an approval is for (AMB-18)."""
        key = key_of(want)
        for operation in self.live(owner):
            if (operation.interface, operation.action) == (interface, want.action) and (
                operation.key == key
            ):
                return operation
        return None

    def named(self, operation_id: str) -> Operation | None:
        """The operation of that name, if the Company ever gave it to anybody."""
        found = [operation for operation in self.operations if operation.name == operation_id]
        return found[0] if found else None

    def waiting(self, owner: Owner) -> list[Revision]:
        """The owner's revisions that wait for an approval."""
        return [
            revision
            for operation in self.live(owner)
            for revision in operation.revisions
            if revision.recorded is None
            and not revision.is_retired
            and not self.is_expired(revision)
        ]

    def make_room(self, owner: Owner) -> Expected | None:
        """The oldest revision that nobody saw gives way; else the ask has to wait."""
        waiting = self.waiting(owner) if self.seen is None else self.seen
        if len(waiting) < self.cap:
            return None
        unseen = [revision for revision in waiting if not revision.is_seen]
        if unseen:
            gone = min(unseen, key=lambda revision: revision.number)
            if gone in gone.operation.revisions:
                gone.operation.revisions.remove(gone)
            if not gone.operation.revisions and gone.operation in self.operations:
                self.operations.remove(gone.operation)
            return None
        first = min(revision.expires_s for revision in waiting)
        return Expected(
            "error", status=429, code="rate_limited", retry_after=first - self.now_s + 1
        )

    # What operators and time do

    def is_over(self, operation: Operation) -> bool:
        """Whether an attempt can be judged: it ended as unknown, or its lease is over."""
        return operation.state == PERFORMING and (
            operation.is_unknown or operation.lease_until < self.now
        )

    def settle(self, operation: Operation, attempt: int, *, happened: bool) -> bool:
        """A person's or reconcile's word on the attempt that was examined, and on no other."""
        if operation.attempt != attempt or not self.is_over(operation):
            return False
        if happened:
            assert operation.in_use
            self.end(operation, operation.in_use, "settled")
        else:
            self.refute(operation)
        return True

    def reconcile(self) -> dict[str, int]:
        """Every attempt that is over is judged by what is true outside."""
        ends = dict.fromkeys(
            ("performed", "not_performed", "still_unknown", "freed", "requeued"), 0
        )
        for operation in self.operations:
            if not self.is_over(operation):
                continue
            if self.is_lapsed(operation):
                self.meet(operation)
                ends["freed"] += 1
            elif self.hook != "truth":
                ends["still_unknown"] += 1
            elif any(effect.operation is operation for effect in self.effects):
                assert operation.in_use
                self.end(operation, operation.in_use, "found")
                ends["performed"] += 1
            else:
                self.refute(operation)
                ends["not_performed"] += 1
        return ends

    def refute(self, operation: Operation) -> None:
        """It was not performed, as somebody found out."""
        self.reopen(operation)
        operation.ended = self.now

    def void(self, revision: Revision) -> bool:
        """Take back a recorded approval that is not in use (AMB-24)."""
        if revision.operation.state != OPEN:
            return False
        revision.operation.moves_on()
        if revision.is_voided:
            return False
        revision.is_voided = revision.is_retired = True
        return True

    def purge(self) -> int:
        """Forget what no approval could name any more, and never what is under way (AMB-08).

        Nor what ended so late that its agent may not know it yet.
        """
        ended_before = self.now - DAY_S * 1000
        kept = [
            operation
            for operation in self.operations
            if operation.state == PERFORMING
            or operation.ended >= ended_before
            or any(one.expires_s >= self.now / 1000 - DAY_S for one in operation.revisions)
        ]
        purged = len(self.operations) - len(kept)
        self.operations = kept
        return purged

    def end(self, operation: Operation, revision: Revision, answer: str, took: int = 0) -> None:
        """It was performed, and stays so for as long as it is remembered."""
        operation.state, operation.in_use, operation.is_unknown = PERFORMED, None, False
        operation.performed, operation.answer = revision, answer
        operation.ended = self.now + took
