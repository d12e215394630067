"""The checks of an approval that came, and whether to decline it (6)."""

from __future__ import annotations

import json
import logging
from datetime import datetime

from poppy_operations.company import get_company
from poppy_operations.declarations.current import ApprovedOperation
from poppy_operations.declarations.outcomes import Decline
from poppy_operations.declarations.registry import registry
from poppy_operations.gate.answers import (
    INVALID_REQUEST,
    Answer,
    Declined,
    ErrorAnswer,
    Lost,
    PlainlyPerformed,
    Replay,
    StillPerforming,
)
from poppy_operations.gate.callers import Caller
from poppy_operations.gate.calls import Call
from poppy_operations.gate.door import Asker
from poppy_operations.gate.named import Named, named_by, performed_revision
from poppy_operations.gate.revisions import is_returnable
from poppy_operations.lifecycle import approving, claims
from poppy_operations.logs import about, is_logged, log_of
from poppy_operations.models import Decline as DeclineRow
from poppy_operations.models import Operation, Revision
from poppy_operations.models.databases import write_alias
from poppy_operations.protocol.approval import (
    ApprovalStatement,
    MalformedApproval,
)
from poppy_operations.protocol.canonical import freeze
from poppy_operations.protocol.operation import DeclineStatement
from poppy_operations.protocol.owner import Owner

PERFORMING_RETRY_AFTER_S = 2
UNKNOWN_RETRY_AFTER_S = 60


def read_approval(asker: Asker) -> ApprovalStatement | ErrorAnswer | None:
    """The approval that came with a request; ``None`` if it counts as none (AMB-04)."""
    try:
        statement = asker.approval()
    except MalformedApproval:
        return INVALID_REQUEST
    if statement is not None and statement.dropped:
        log_of(
            logging.INFO,
            "Ill-typed optional members of an approval were dropped: %s",
            ", ".join(statement.dropped),
            operation_id=statement.operation_id,
        )
    return statement


def still_performing(operation: Operation) -> StillPerforming:
    """The answer while nobody may say that the action failed (7)."""
    unknown = operation.outcome_unknown_since is not None
    wait_s = UNKNOWN_RETRY_AFTER_S if unknown else PERFORMING_RETRY_AFTER_S
    return StillPerforming(operation.operation_id, wait_s)


def challenge(asker: Asker, operation_id: str | None = None) -> ErrorAnswer:
    """The challenge for an account, such as an operation's own (3, AMB-01)."""
    header = get_company().challenge(asker.request, operation_id)
    return ErrorAnswer("sign_in_required", headers={"WWW-Authenticate": header})


def checks_1_and_2(
    call: Call, caller: Caller, statement: ApprovalStatement
) -> Answer | Revision | None:
    """Check who may approve, and whether it was performed, before the site validates anything.

    Gives the named revision if both checks pass. ``None`` if check 1 fails, or the operation has no
    such revision: the request is then handled as if it had no approval. An answer if the operation
    is performing or was performed, or a challenge if its account has to be signed in (3).
    """
    found = named_by(statement.operation_id, statement.revision, statement.approver)
    if found is None or caller.owner is None:
        return None
    operation = found.operation
    if (operation.interface, operation.conversation) != (caller.interface.name, call.conversation):
        return None
    if operation.owner != caller.owner:
        if caller.owner.is_challenged_for(operation.owner):
            return challenge(call.asker, operation.operation_id)
        return None
    if claims.is_lapsed(operation, call.now):
        claims.free(operation, call.now)
        return checks_1_and_2(call, caller, statement)
    if operation.state == Operation.State.PERFORMED:
        return _replay(call, caller.owner, found, statement)
    if operation.state == Operation.State.PERFORMING:
        return still_performing(operation)
    return found.revision


def _replay(call: Call, owner: Owner, found: Named, statement: ApprovalStatement) -> Answer:
    performance, performed = found.operation.performance, performed_revision(found)
    if not call.is_at_target_of(performed, owner):
        return PlainlyPerformed(found.operation.operation_id)
    differs = statement.revision != performed.revision
    # The comparison is for the log alone.
    if is_logged(logging.INFO) and (differs or not call.is_sent_again(performed, owner)):
        log_of(
            logging.INFO,
            "An operation's answer was given again to a request that differs from the first one.",
            **about(found.operation),
            named=statement.revision,
        )
    return Replay(current_operation(performed, None), performance)


def is_named(revision: Revision, statement: ApprovalStatement, now: datetime) -> bool:
    """Check 3, as far as the revision goes: returned for the operation, and not expired."""
    return revision.revision == statement.revision and is_returnable(revision, now)


def declined_before(revision: Revision, statement: ApprovalStatement) -> Declined | None:
    """The same decline again, whatever the policy says by now (AMB-23)."""
    if not revision.was_declined:  # type: ignore[attr-defined]  # the query annotates it
        return None
    row = DeclineRow.objects.using(write_alias()).get(
        revision=revision, approver=statement.approver
    )
    alternative = None if row.alternative is None else json.loads(row.alternative)
    return Declined(
        DeclineStatement(statement.operation_id, statement.revision, row.reason, alternative)
    )


def declined_by_policy(
    revision: Revision, statement: ApprovalStatement, *, sid: str, now: datetime
) -> Declined | Lost | None:
    """Ask the policies after the checks have passed; ``None`` if nobody declines."""
    decision = _decision(revision, statement)
    if decision is None:
        return None
    if not approving.decline(statement, revision, decision, sid=sid, now=now):
        return Lost()
    return Declined(
        DeclineStatement(
            statement.operation_id, statement.revision, decision.reason, decision.alternative
        )
    )


def _decision(revision: Revision, statement: ApprovalStatement) -> Decline | None:
    action = registry.get(revision.operation.action)
    operation = current_operation(revision, statement)
    if action is not None:
        if statement.approver not in action.approvers:
            return Decline(rule="approvers")
        if action.decline_hook is not None:
            decision = _decided(action.decline_hook(operation, statement))
            if decision is not None:
                return decision
    return _decided(get_company().decline(operation, statement))


def _decided(said: object) -> Decline | None:
    if said is None or isinstance(said, Decline):
        return said
    message = f"A rule that declines returns Decline or None, not {type(said).__name__}."
    raise TypeError(message)


def current_operation(revision: Revision, statement: ApprovalStatement | None) -> ApprovedOperation:
    """The operation that the site's code gets: the approved terms, which nothing can change."""
    operation = revision.operation
    return ApprovedOperation(
        action=operation.action,
        terms=freeze(revision.terms),
        summary=revision.summary,
        operation_id=operation.operation_id,
        revision=revision.revision,
        idempotency_key=operation.idempotency_key,
        owner=operation.owner,
        approval=statement,
    )
