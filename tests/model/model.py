"""The independent model: the Operations text and the decisions on it, in plain Python.

It knows nothing of the package. Its operations and revisions get their names when an agent first
reads them, so what the package must keep apart or together is compared by identity. All times are
milliseconds; the protocol's are whole seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

OPEN, PERFORMING, PERFORMED = "open", "performing", "performed"
LIFETIME_S = 15 * 60
LEASE_S = {"database": 60, "external": 15 * 60}
LONGEST_LEASE_S = 60 * 60
EFFECTS = {
    "order": "database",
    "change": "database",
    "each": "database",
    "pay": "external",
    "send": "external",
}
OUTLIVES_MS = LEASE_S["external"] * 1000 + 1000
DAY_S = 24 * 60 * 60
# How a run ends, for what its effects are; everything else is performed.
UNDONE: dict[str, dict[str, int | None]] = {
    "database": {
        "refused": 409,
        "login": 302,
        "marked": None,
        "not performed": 409,
        "sold out": 500,
        "error before": 500,
        "error after": 500,
    },
    "external": {"not performed": 409, "sold out": 500},
}
UNKNOWN = dict.fromkeys(("refused", "login", "error before", "error after"))
NO_EFFECT = {"error before", "killed before", "not performed", "sold out"}
KILLED = {"killed before", "killed after", "killed at the end"}


class Owner(NamedTuple):
    """Who an operation belongs to (3)."""

    agent: str
    user: str
    account: str


class Want(NamedTuple):
    """What a request asks for. ``spelled`` and ``trace`` are bytes that mean nothing."""

    action: str
    item: str
    quantity: int
    note: str = ""
    spelled: str = ""
    trace: str = ""

    @property
    def content(self) -> tuple[Any, ...]:
        """The request by meaning."""
        return self[:4]

    @property
    def raw(self) -> tuple[Any, ...]:
        """The request by value."""
        return self[:5]


class Run(NamedTuple):
    """How the site's code goes, should the request come to it."""

    ending: str = "performed"
    in_between: str = ""
    when: str = ""
    what: str = ""


class Approval(NamedTuple):
    """An approval as an agent sends it; both names are texts."""

    operation_id: str
    revision: str
    approver: str


@dataclass(eq=False, repr=False)
class Operation:
    """One action of one owner."""

    owner: Owner
    interface: str
    action: str
    key: object
    created_s: int
    name: str | None = None
    state: str = OPEN
    attempt: int = 0
    attempts: int = 0
    lease_s: int = 0
    lease_until: int = 0
    is_unknown: bool = False
    in_use: Revision | None = None
    performed: Revision | None = None
    answer: object = None
    effects: int = 0
    revisions: list[Revision] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<{self.name} {self.owner} {self.interface} {self.action} {self.state}>"

    def moves_on(self) -> None:
        """Whatever was examined before says nothing any more."""
        self.attempts += 1
        self.attempt = self.attempts


@dataclass(eq=False, repr=False)
class Revision:
    """One set of terms."""

    operation: Operation
    terms: tuple[str, int, int]
    want: Want
    number: int
    returned_s: int
    expires_s: int
    name: str | None = None
    ref: str | None = None
    watch: str | None = None
    is_seen: bool = False
    is_retired: bool = False
    recorded: int | None = None
    recorded_by: str = ""
    is_voided: bool = False
    declined: set[str] = field(default_factory=set)
    approved: bool = False

    def __repr__(self) -> str:
        return f"<{self.name} {self.terms} {self.want} of {self.operation}>"

    @property
    def is_waiting(self) -> bool:
        """Whether an approval of it is on record and not voided."""
        return self.recorded is not None and not self.is_voided


class Expected(NamedTuple):
    """An answer: its kind, and what belongs to it."""

    kind: str
    operation: Operation | None = None
    revisions: tuple[Revision, ...] = ()
    status: int = 0
    code: str = ""
    retry_after: int | None = None


@dataclass
class Model:
    """The Company, as the text and the decisions want it."""

    cap: int
    now: int
    needed: bool = True
    prices: dict[str, int] = field(default_factory=lambda: {"a": 10, "b": 20})
    declines: tuple[str, ...] = ()
    hook: str = "truth"
    operations: list[Operation] = field(default_factory=list)
    ungated: list[tuple[str, int, int]] = field(default_factory=list)
    effects: list[Revision] = field(default_factory=list)
    during: list[Expected] = field(default_factory=list)
    revisions: int = 0
    recordings: int = 0
    running: Revision | None = None
    voided: Revision | None = None

    # What the rules are made of

    @property
    def now_s(self) -> int:
        """The whole second that decides (AMB-16)."""
        return self.now // 1000

    def terms(self, want: Want) -> tuple[str, int, int]:
        """Today's terms."""
        return (want.item, want.quantity, self.prices[want.item] * want.quantity)

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

    # A request for an action

    def visit(self, want: Want) -> Expected:
        """An ordinary visitor's request."""
        self.ungated.append(self.terms(want))
        return Expected("site")

    def undeclared(self, want: Want) -> Expected:
        """An agent's browser that is handled as nobody's Session (2)."""
        return Expected("undeclared") if self.needed else self.visit(want)

    def website(self, owner: Owner, *, declared: bool, want: Want, run: Run) -> Expected:
        """A request from a browser joined to a Session (6)."""
        for operation in self.live(owner):
            self.meet(operation)
        for operation in self.live(owner):
            in_use = operation.in_use
            if in_use and operation.interface == "website" and in_use.want.raw == want.raw:
                return self.under_way(in_use, declared=declared)
        if run.in_between in {"other", "void"}:
            self.in_between(owner, declared=declared, want=want, what=run.in_between)
            again = run._replace(in_between="")
            return self.website(owner, declared=declared, want=want, run=again)
        terms = self.terms(want)
        matching = self.matching(owner, want, terms)
        slot = self.slot(owner, "website", want)
        if not (self.needed or matching or (slot and slot.state == PERFORMING)):
            return self.visit(want)
        if matching:
            answer = self.first_of(matching, run, declared=declared)
            if answer is not None:
                return answer
            # The terms are others by now: as if it had come later.
            later = run._replace(in_between="")
            return self.website(owner, declared=declared, want=want, run=later)
        return self.ask(owner, "website", declared=declared, want=want, terms=terms)

    def in_between(self, owner: Owner, *, declared: bool, want: Want, what: str) -> None:
        """Others come between the checks of a browser's request and its claim."""
        if what == "other":
            self.during.append(self.website(owner, declared=declared, want=want, run=Run()))
            return
        matching = self.matching(owner, want, self.terms(want))
        if matching:
            self.voided = min(matching, key=lambda revision: revision.recorded or 0)
            self.void(self.voided)

    def first_of(self, matching: list[Revision], run: Run, *, declared: bool) -> Expected | None:
        """Perform what was recorded first; while it is under way, there is a further reference."""
        first = min(matching, key=lambda revision: revision.recorded or 0)
        answer = self.perform(first, run)
        if answer and answer.kind == "performing" and first.operation.in_use is first:
            return self.under_way(first, declared=declared)
        return answer

    def matching(self, owner: Owner, want: Want, terms: tuple[str, int, int]) -> list[Revision]:
        """The recorded approvals that a browser's request uses up (6)."""
        return [
            revision
            for operation in self.live(owner)
            for revision in operation.revisions
            if operation.state == OPEN
            and revision.is_waiting
            and not self.is_expired(revision)
            and self.is_same(revision, "website", want, terms)
        ]

    def api(
        self,
        owner: Owner,
        *,
        declared: bool,
        want: Want,
        run: Run,
        approval: Approval | None = None,
        unparsable: bool = False,
    ) -> Expected:
        """A request at the API, with an approval or without (6)."""
        operation = self.api_operation(owner, approval)
        if isinstance(operation, Expected):
            return operation
        if operation and operation.state == PERFORMED:
            return self.again(operation, want)
        if operation and operation.state == PERFORMING:
            return self.performing(operation)
        if run.in_between == "other":
            asked = (owner, declared, want, approval, unparsable)
            self.during.append(self._api(*asked, Run()))
            return self._api(*asked, run._replace(in_between=""))
        terms = self.terms(want)
        if not (self.needed or approval or unparsable or self.is_under_way(owner, want)):
            return self.visit(want)
        named = approval and self.to_perform(operation, approval, want, terms)
        if approval and named:
            answer = self.decline(named, approval) or self.perform(named, run)
            if answer is not None:
                return answer
            # The terms are others by now.
            terms = self.terms(want)
        name = approval.revision if approval else ""
        return self.ask(owner, "api", declared=declared, want=want, terms=terms, name=name)

    def _api(
        self,
        owner: Owner,
        declared: bool,
        want: Want,
        approval: Approval | None,
        unparsable: bool,
        run: Run,
    ) -> Expected:
        return self.api(
            owner,
            declared=declared,
            want=want,
            run=run,
            approval=approval,
            unparsable=unparsable,
        )

    def again(self, operation: Operation, want: Want) -> Expected:
        """The first answer, or that there was one: a replay is for its own target (AMB-07)."""
        assert operation.performed
        done = operation.performed.want
        if (done.action, done.item) != (want.action, want.item):
            return Expected("status", operation, status=200, code=PERFORMED)
        return Expected("stored", operation)

    def is_under_way(self, owner: Owner, want: Want) -> bool:
        """Whether the action that an API's request is for is being performed.

        An attempt that lapsed counts, since it may still commit until somebody has met it.
        """
        slot = self.slot(owner, "api", want)
        return slot is not None and slot.state == PERFORMING

    def to_perform(
        self,
        operation: Operation | None,
        approval: Approval,
        want: Want,
        terms: tuple[str, int, int],
    ) -> Revision | None:
        """The revision that an approval at the API names, if it is for this request (check 3)."""
        for revision in operation.revisions if operation else ():
            if (
                revision.name == approval.revision
                and not self.is_expired(revision)
                and not revision.is_retired
                and self.is_same(revision, "api", want, terms)
            ):
                return revision
        return None

    def api_operation(self, owner: Owner, approval: Approval | None) -> Operation | Expected | None:
        """The operation that an approval at the API can be for (check 1)."""
        operation = self.named(approval.operation_id) if approval else None
        if operation is None or operation.interface != "api":
            return None
        if operation.owner != owner:
            return Expected("challenge") if is_challenged(owner, operation.owner) else None
        self.meet(operation)
        return operation

    def is_same(
        self, revision: Revision, interface: str, want: Want, terms: tuple[str, int, int]
    ) -> bool:
        """Whether the request asks for exactly what the revision describes (check 3)."""
        return (
            revision.operation.interface == interface
            and revision.want.content == want.content
            and revision.terms == terms
        )

    def ask(
        self,
        owner: Owner,
        interface: str,
        *,
        declared: bool,
        want: Want,
        terms: tuple[str, int, int],
        name: str = "",
    ) -> Expected:
        """Return the operation, never with the revision that the approval named (3, 4)."""
        if not declared:
            return Expected("undeclared")
        slot = self.slot(owner, interface, want)
        if slot:
            self.meet(slot)
            if slot.state == PERFORMING and interface == "api":
                return self.performing(slot)
            again = [
                revision
                for revision in slot.revisions
                if self.is_same(revision, interface, want, terms)
                and self.is_fresh(revision)
                and not revision.is_retired
                and not revision.is_voided
                and slot.in_use is not revision
                and (not name or revision.name != name)
            ]
            if again:
                return Expected("operation", slot, tuple(again))
        full = self.make_room(owner)
        if full is not None:
            return full
        operation = slot or Operation(owner, interface, want.action, key_of(want), self.now_s)
        return self.returned(operation, want, terms)

    def make_room(self, owner: Owner) -> Expected | None:
        """The oldest revision that nobody saw gives way; else the ask has to wait."""
        waiting = [
            revision
            for operation in self.live(owner)
            for revision in operation.revisions
            if revision.recorded is None
            and not revision.is_retired
            and not self.is_expired(revision)
        ]
        if len(waiting) < self.cap:
            return None
        unseen = [revision for revision in waiting if not revision.is_seen]
        if unseen:
            min(unseen, key=lambda revision: revision.number).is_retired = True
            return None
        first = min(revision.expires_s for revision in waiting)
        return Expected(
            "error", status=429, code="rate_limited", retry_after=first - self.now_s + 1
        )

    def returned(self, operation: Operation, want: Want, terms: tuple[str, int, int]) -> Expected:
        """A new revision, of a new operation or of one that is there."""
        if operation not in self.operations:
            self.operations.append(operation)
        self.revisions += 1
        expires_s = self.now_s + LIFETIME_S
        revision = Revision(operation, terms, want, self.revisions, self.now_s, expires_s)
        revision.is_seen = operation.interface == "api"
        operation.revisions.append(revision)
        return Expected("new", operation, (revision,))

    def performing(self, operation: Operation) -> Expected:
        """Nobody may say that it failed (7)."""
        wait_s = 60 if operation.is_unknown else 2
        return Expected("performing", operation, status=503, retry_after=wait_s)

    def under_way(self, in_use: Revision, *, declared: bool) -> Expected:
        """The browser's very request is being performed: a further revision (AMB-13)."""
        operation = in_use.operation
        if not declared:
            return self.performing(operation)
        again = [
            revision
            for revision in operation.revisions
            if revision is not in_use
            and (revision.terms, revision.want.content) == (in_use.terms, in_use.want.content)
            and self.is_fresh(revision)
            and not revision.is_retired
        ]
        if again:
            return Expected("operation", operation, tuple(again))
        return self.returned(operation, in_use.want, in_use.terms)

    # An attempt

    def decline(self, revision: Revision, approval: Approval) -> Expected | None:
        """Decline again what was declined, else ask the policy (AMB-23)."""
        if approval.approver in revision.declined:
            return Expected("declined", revision.operation, (revision,))
        if approval.approver not in self.declines:
            return None
        revision.declined.add(approval.approver)
        if revision.operation.state == OPEN:
            revision.operation.moves_on()
        return Expected("declined", revision.operation, (revision,))

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
        if run.in_between in {"gone", "dearer"}:
            self.reopen(operation)
            if run.in_between == "gone":
                return Expected("site", status=410)
            self.prices[revision.terms[0]] += 1
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
        operation, mine = revision.operation, revision.operation.attempt
        if run.when == "before":
            self.meanwhile(revision, run.what, happened=False)
        if run.ending not in NO_EFFECT:
            self.effects.append(revision)
            if run.when == "after":
                self.meanwhile(revision, run.what, happened=True)
        is_mine = operation.state == PERFORMING and operation.attempt == mine
        if run.ending in KILLED:
            return Expected("killed")
        if run.ending in UNDONE["external"] | UNKNOWN:
            return self.without_success(operation, run.ending, is_mine=is_mine)
        if operation.state != PERFORMED:
            self.end(operation, revision, "own")
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

    def meanwhile(self, revision: Revision, what: str, *, happened: bool) -> None:
        """What happens while the site's code runs."""
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
        self.now = arrived  # What the request that runs decides, it decides by its arrival.

    def end(self, operation: Operation, revision: Revision, answer: str) -> None:
        """It was performed, and stays so for as long as it is remembered."""
        operation.state, operation.in_use, operation.is_unknown = PERFORMED, None, False
        operation.performed, operation.answer = revision, answer

    # The endpoint

    def look_up(self, owner: Owner, revision: Revision | None, *, declared: bool) -> Expected:
        """What a reference says in a Session (4, AMB-10, AMB-11)."""
        refused = self.reference(owner, revision)
        if refused is not None or revision is None:
            return refused or INVALID
        return self.state(revision, declared=declared, says_approved=True)

    def reference(self, owner: Owner, revision: Revision | None) -> Expected | None:
        """Whether the Session can use the reference (3)."""
        if revision is None or revision.operation not in self.operations:
            return INVALID
        operation = revision.operation
        if operation.owner != owner:
            return Expected("challenge") if is_challenged(owner, operation.owner) else INVALID
        self.meet(operation)
        return None

    def state(self, revision: Revision, *, declared: bool, says_approved: bool) -> Expected:
        """Where the operation of a reference stands."""
        operation = revision.operation
        if operation.state != OPEN:
            return Expected("status", operation, status=200, code=operation.state)
        if self.is_expired(revision):
            return INVALID
        if revision.is_waiting and says_approved:
            return Expected("status", operation, status=200, code="approved")
        if revision.is_retired and not revision.is_waiting:
            return INVALID
        if not declared:
            return Expected("undeclared")
        revision.is_seen = True
        return Expected("operation", operation, (revision,))

    def approve(
        self, owner: Owner, revision: Revision | None, approval: Approval, *, declared: bool
    ) -> Expected:
        """An approval at the endpoint: recorded, declined or refused; nothing is performed (6)."""
        refused = self.reference(owner, revision)
        if refused is not None or revision is None:
            return refused or INVALID
        operation = revision.operation
        if operation.name != approval.operation_id:
            return self.other_than_named(revision, approval, declared=declared)
        if operation.state == PERFORMED:
            return RECORDED
        named = [one for one in operation.revisions if one.name == approval.revision]
        if (
            not named
            or self.is_expired(named[0])
            or named[0].is_voided
            or (named[0].is_retired and not named[0].is_waiting)
        ):
            if operation.state == PERFORMING:
                return RECORDED
            return self.other_than_named(revision, approval, declared=declared)
        return self.judge(named[0], approval)

    def judge(self, named: Revision, approval: Approval) -> Expected:
        """The checks passed: declined or recorded."""
        if approval.approver in named.declined:
            return Expected("declined", named.operation, (named,))
        if named.is_waiting:
            return RECORDED
        declined = self.decline(named, approval)
        if declined is not None:
            return declined
        self.recordings += 1
        named.recorded, named.recorded_by = self.recordings, approval.approver
        return RECORDED

    def other_than_named(
        self, revision: Revision, approval: Approval, *, declared: bool
    ) -> Expected:
        """Check 3 failed: the reference's operation, never with the revision named (AMB-09)."""
        answer = self.state(revision, declared=declared, says_approved=False)
        if answer.kind == "operation" and revision.name == approval.revision:
            return INVALID
        return answer

    def watch(self, owner: Owner | None, revision: Revision) -> str:
        """What a waiting page may know."""
        operation = revision.operation
        if owner != operation.owner or operation not in self.operations:
            return "unknown"
        self.meet(operation)
        if operation.state != OPEN:
            return operation.state
        if self.is_expired(revision):
            return "unknown"
        if revision.is_waiting:
            return "approved"
        return "unknown" if revision.is_retired else "waiting"

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
            self.reopen(operation)
        return True

    def reconcile(self) -> dict[str, int]:
        """Every attempt that is over is judged by what is true outside."""
        ends = {"performed": 0, "not_performed": 0, "still_unknown": 0, "freed": 0}
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
                self.reopen(operation)
                ends["not_performed"] += 1
        return ends

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
        """Forget what no approval could name any more, and never what is under way (AMB-08)."""
        kept = [
            operation
            for operation in self.operations
            if operation.state == PERFORMING
            or any(one.expires_s >= self.now / 1000 - DAY_S for one in operation.revisions)
        ]
        purged = len(self.operations) - len(kept)
        self.operations = kept
        return purged


INVALID = Expected("error", status=400, code="invalid_request")
RECORDED = Expected("recorded", status=204)


def key_of(want: Want) -> object:
    """What the site calls the same action: the item, the whole request, or nothing ever."""
    if want.action == "each":
        return object()
    return want.item if want.action in {"change", "pay"} else want.content


def is_challenged(owner: Owner, other: Owner) -> bool:
    """Whether a signed-out Session of the same agent and User is asked to sign in (AMB-01)."""
    return not owner.account and bool(other.account) and owner[:2] == other[:2]
