"""The independent model: the Operations text and the decisions on it, in plain Python.

It knows nothing of the package. This is the way of a request for an action; what it stands on is
in ``attempts``, ``endpoint`` and ``ground``.
"""

from __future__ import annotations

from tests.model.attempts import Attempts
from tests.model.facts import (
    LIFETIME_S,
    OPEN,
    PERFORMED,
    PERFORMING,
    Approval,
    Expected,
    Operation,
    Owner,
    Revision,
    Run,
    Want,
    is_challenged,
    key_of,
)


class Model(Attempts):
    """The Company, as the text and the decisions want it."""

    def visit(self, want: Want) -> Expected:
        """An ordinary visitor's request."""
        self.ungated.append(self.terms(want))
        return Expected("site")

    def undeclared(self, want: Want) -> Expected:
        """An agent's browser that is handled as nobody's Session (2)."""
        return Expected("undeclared") if self.is_needed(self.terms(want)) else self.visit(want)

    def website(self, owner: Owner, *, declared: bool, want: Want, run: Run) -> Expected:
        """A request from a browser joined to a Session (6)."""
        for operation in self.live(owner):
            self.meet(operation)
        for operation in self.live(owner):
            in_use = operation.in_use
            if in_use and operation.interface == "website" and in_use.want.raw == want.raw:
                return self.under_way(in_use, declared=declared)
        if run.in_between in {"other", "void"}:
            # Asks that share no slot meet nowhere: each makes room by what it saw when it came.
            seen = self.waiting(owner) if want.action == "each" else None
            self.in_between(owner, declared=declared, want=want, what=run.in_between)
            self.seen = seen
            again = run._replace(in_between="")
            answer = self.website(owner, declared=declared, want=want, run=again)
            self.seen = None
            return answer
        terms = self.terms(want)
        matching = self.matching(owner, want, terms)
        if not (self.is_needed(terms) or self.is_bound(owner, "website", want)):
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
        if not (
            self.is_needed(terms) or approval or unparsable or self.is_bound(owner, "api", want)
        ):
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
        if (done.action, done.item, done.door) != (want.action, want.item, want.door):
            return Expected("status", operation, status=200, code=PERFORMED)
        return Expected("stored", operation)

    def is_bound(self, owner: Owner, interface: str, want: Want) -> bool:
        """Whether an approval may still perform the action, at whatever terms (AMB-36)."""
        for operation in self.live(owner):
            self.meet(operation)
        slot = self.slot(owner, interface, want)
        return any(
            revision.operation.state == PERFORMING
            or (revision.is_waiting and not self.is_expired(revision))
            for operation in self.live(owner)
            for revision in operation.revisions
            if operation is slot
            or (operation.interface == interface and revision.want.content == want.content)
        )

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
        if slot is None or slot not in self.operations:
            slot = Operation(owner, interface, want.action, key_of(want), self.now_s)
        operation = slot
        return self.returned(operation, want, terms)

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
