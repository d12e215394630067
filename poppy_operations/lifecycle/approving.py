"""Recording, declining and voiding approvals (6)."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError

from poppy_operations.conf import conf
from poppy_operations.declarations.outcomes import Decline as DeclineDecision
from poppy_operations.lifecycle.durable import durably
from poppy_operations.models import Approval, Decline, Operation, Revision
from poppy_operations.models.databases import write_alias
from poppy_operations.models.inserting import insert
from poppy_operations.protocol.approval import ApprovalStatement
from poppy_operations.protocol.ids import new_attempt
from poppy_operations.signals import approval_declined, approval_recorded, tell


def stated(
    statement: ApprovalStatement, revision: Revision, *, sid: str, now: datetime
) -> Approval:
    """The row of an agent's statement, not yet stored."""
    kept = conf.record_statements
    return Approval(
        operation=revision.operation,
        revision=revision,
        approver=statement.approver,
        approved_at=statement.approved_at if kept else None,
        input_type=(statement.input_type or "") if kept else "",
        reference=(statement.reference or "") if kept else "",
        sid=sid,
        received_at=now,
    )


def record(statement: ApprovalStatement, revision: Revision, *, sid: str, now: datetime) -> bool:
    """Record an approval for a request that is still to come; once for each revision.

    False if another one was recorded in the meantime, and perhaps voided since: look again.
    """
    approval = stated(statement, revision, sid=sid, now=now)
    approval.recorded_for = revision
    try:
        durably(lambda: insert(approval))
    except IntegrityError:
        return False
    tell(approval_recorded, operation=revision.operation, revision=revision, approval=approval)
    return True


def decline(
    statement: ApprovalStatement,
    revision: Revision,
    decision: DeclineDecision,
    *,
    sid: str,
    now: datetime,
) -> bool:
    """Decline an approval and remember it. False if the operation moved on meanwhile."""
    operation = revision.operation
    row = Decline(
        operation=operation,
        revision=revision,
        approver=statement.approver,
        reason=decision.reason,
        alternative=None if decision.alternative is None else json.dumps(decision.alternative),
        rule=decision.rule,
        sid=sid,
        declined_at=now,
    )

    def write() -> bool:
        moved = (
            Operation.objects.using(write_alias())
            .filter(pk=operation.pk, attempt=operation.attempt)
            .exclude(state=Operation.State.PERFORMED)
        )
        # While another revision is performing, the operation keeps the token of its attempt.
        if operation.state == Operation.State.OPEN:
            held = moved.filter(state=Operation.State.OPEN).update(attempt=new_attempt())
        else:
            held = moved.update(attempt=operation.attempt)
        if held:
            # A first try has given the row an ID, which on SQLite may be another row's by now.
            row.pk = None
            row.save(using=write_alias())
        return bool(held)

    try:
        declined = durably(write)
    except IntegrityError:
        return False
    if declined:
        tell(approval_declined, operation=operation, revision=revision, decline=row)
    return declined


def void(approval: Approval, *, by: str, because: str, now: datetime) -> bool:
    """Void an approval that was not used. False if it is in use or used up (AMB-24)."""
    operation = approval.operation
    voided = {"voided_at": now, "voided_by": by, "voided_because": because}
    tried = False

    def write() -> bool:
        nonlocal tried
        held = (
            Operation.objects.using(write_alias())
            .filter(pk=operation.pk, state=Operation.State.OPEN)
            .update(attempt=new_attempt())
        )
        if held and void_among(operation, [approval.pk], by=by, because=because, now=now):
            tried = True
            return True
        # Perhaps the first try voided it: the commit took effect, and only its answer was lost.
        mine = Approval.objects.using(write_alias()).filter(pk=approval.pk, **voided)
        return tried and mine.exists()

    return durably(write)


def void_among(
    operation: Operation, approvals: Collection[UUID], *, by: str, because: str, now: datetime
) -> int:
    """Void those of the approvals that are not voided yet, in the caller's transaction.

    Their revisions are retired: if such an approval is sent again, there are no terms for it.
    """
    standing = Approval.objects.using(write_alias()).filter(
        operation=operation, pk__in=approvals, voided_at=None
    )
    revisions = list(standing.values_list("revision_id", flat=True))
    voided = standing.update(voided_at=now, voided_by=by, voided_because=because)
    Revision.objects.using(write_alias()).filter(pk__in=revisions, retired_at=None).update(
        retired_at=now
    )
    return voided
