"""The model of the endpoint and of the waiting page (4, 6)."""

from __future__ import annotations

from tests.model.facts import (
    INVALID,
    OPEN,
    PERFORMED,
    PERFORMING,
    RECORDED,
    Approval,
    Expected,
    Owner,
    Revision,
    is_challenged,
)
from tests.model.ground import Ground


class Endpoint(Ground):
    """Looking references up, and approving them."""

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
        if not any(one is revision for one in operation.revisions):
            return INVALID  # It gave way to others.
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
