"""What an agent gets at the endpoint for a reference, and what the page may see (4, 6)."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from django.db import DatabaseError, InterfaceError

from poppy_operations.gate.answers import (
    EXTENSION_REQUIRED,
    INVALID_REQUEST,
    ApprovalRequired,
    Declined,
    EndpointAnswer,
    ErrorAnswer,
    OperationStatus,
    Recorded,
)
from poppy_operations.gate.approvals import (
    challenge,
    declined_before,
    declined_by_policy,
    is_named,
    read_approval,
)
from poppy_operations.gate.callers import verified
from poppy_operations.gate.calls import TRIES
from poppy_operations.gate.door import Asker
from poppy_operations.gate.returning import as_returned
from poppy_operations.gate.revisions import (
    has_record,
    is_returnable,
    record_of,
    revision_of_operation,
    revision_of_ref,
    revision_of_watch,
)
from poppy_operations.lifecycle import approving, asking, claims
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.models import Operation, Revision
from poppy_operations.protocol.approval import ApprovalStatement
from poppy_operations.protocol.ids import is_ref
from poppy_operations.sessions.session import Session


def at_endpoint(asker: Asker, ref: object, now: datetime) -> EndpointAnswer:
    """Answer the endpoint's request: a look-up, a status, or an approval (4, 6).

    ``ref`` is whatever the body held. Raises ``Busy`` if an approval could not be recorded.
    """
    session = verified(asker)
    if isinstance(session, ErrorAnswer):
        return session
    statement = read_approval(asker)
    if isinstance(statement, ErrorAnswer):
        return statement
    if not is_ref(ref):
        return INVALID_REQUEST
    for _ in range(TRIES):
        answer = _for_reference(asker, session, ref, statement, now)
        if answer is not None:
            return answer
    message = "An operation moved on again and again while its approval was declined."
    raise Busy(message)


def _for_reference(
    asker: Asker,
    session: Session,
    ref: str,
    statement: ApprovalStatement | None,
    now: datetime,
) -> EndpointAnswer | None:
    approver = "" if statement is None else statement.approver
    revision = revision_of_ref(ref, approver)
    if revision is None:
        return INVALID_REQUEST
    operation = revision.operation
    if operation.owner != session.owner:
        if session.owner.is_challenged_for(operation.owner):
            return challenge(asker, operation.operation_id)
        return INVALID_REQUEST
    if claims.is_lapsed(operation, now) and _freed(operation, now):
        return None
    if statement is None:
        return _looked_up(session, revision, now)
    return _approval_sent(session, revision, statement, now)


def _freed(operation: Operation, now: datetime) -> bool:
    try:
        return claims.free(operation, now)
    except Busy:
        return False  # Answered as if it had not been tried.


def _looked_up(
    session: Session, revision: Revision, now: datetime, *, says_approved: bool = True
) -> EndpointAnswer:
    """The state of an approved operation, else the operation (AMB-10, AMB-11)."""
    operation = revision.operation
    if operation.state in {Operation.State.PERFORMING, Operation.State.PERFORMED}:
        return OperationStatus(operation.operation_id, operation.state)
    if not is_returnable(revision, now):
        return INVALID_REQUEST
    if has_record(revision) and says_approved:
        return OperationStatus(operation.operation_id, "approved")
    if not session.declared:
        return EXTENSION_REQUIRED
    if revision.looked_up_at is None:
        with suppress(DatabaseError, InterfaceError):  # Answered as if it had not been tried.
            asking.mark_looked_up(revision, now)
    return ApprovalRequired(as_returned(revision), sid=session.sid)


def _approval_sent(
    session: Session,
    revision: Revision,
    statement: ApprovalStatement,
    now: datetime,
) -> EndpointAnswer | None:
    operation = revision.operation
    if statement.operation_id != operation.operation_id:
        return _other_than_named(session, revision, statement, now)
    if operation.state == Operation.State.PERFORMED:
        return Recorded()  # The first answer again; there is nothing left to record (AMB-12).
    named: Revision | None = revision
    if statement.revision != revision.revision:
        named = revision_of_operation(operation, statement.revision, statement.approver)
    if named is None or not is_named(named, statement, now):
        if operation.state == Operation.State.PERFORMING:
            return Recorded()
        return _other_than_named(session, revision, statement, now)
    return _judged_approval(named, statement, session, now)


def _judged_approval(
    named: Revision, statement: ApprovalStatement, session: Session, now: datetime
) -> EndpointAnswer | None:
    before = declined_before(named, statement)
    if before is not None:
        return before
    if has_record(named):
        return Recorded()
    if record_of(named) is not None:
        # Its one record lost a race against a decline; the browser gets another revision.
        return INVALID_REQUEST
    decided = declined_by_policy(named, statement, sid=session.sid, now=now)
    if decided is not None:
        return decided if isinstance(decided, Declined) else None
    recorded = approving.record(statement, named, sid=session.sid, now=now)
    return Recorded() if recorded else None


def _other_than_named(
    session: Session,
    revision: Revision,
    statement: ApprovalStatement,
    now: datetime,
) -> EndpointAnswer:
    """The answer if check 3 failed: the operation, but never the revision that was named (6).

    An approved revision gets no status either: that would read as if this approval were recorded.
    """
    answer = _looked_up(session, revision, now, says_approved=False)
    if isinstance(answer, ApprovalRequired) and answer.operation.revision == statement.revision:
        return INVALID_REQUEST
    return answer


def watched(asker: Asker, watch: str, now: datetime) -> str:
    """The state of the waiting page's operation, for the browser's own live join only.

    ``waiting``, ``approved``, ``performing``, ``performed``, or ``unknown`` for everything else.
    Changes nothing but a lapsed lease.
    """
    session = asker.browser().session
    if session is None:
        return "unknown"
    revision = revision_of_watch(watch)
    if revision is None or revision.operation.owner != session.owner:
        return "unknown"
    operation = revision.operation
    freed = claims.is_lapsed(operation, now) and _freed(operation, now)
    if not freed and operation.state in {Operation.State.PERFORMING, Operation.State.PERFORMED}:
        return str(operation.state)
    if not is_returnable(revision, now):
        return "unknown"
    return "approved" if has_record(revision) else "waiting"
