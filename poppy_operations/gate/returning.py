"""Returning an operation: a known revision if one serves, else a new one (3, 4)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from poppy_operations.conf import conf
from poppy_operations.gate.answers import (
    Answer,
    ApprovalRequired,
    ErrorAnswer,
    Lost,
    StillPerforming,
    Undeclared,
)
from poppy_operations.gate.approvals import still_performing
from poppy_operations.gate.asks import Ask, differing_fields
from poppy_operations.gate.callers import Caller
from poppy_operations.gate.calls import TRIES_BESIDE_OTHERS, Call
from poppy_operations.gate.revisions import (
    has_live,
    has_record,
    is_expired,
    is_in_use,
    is_returnable,
    live_revisions,
    read_in_full,
    read_what_is_told,
    record_of,
    seconds,
    serves_again,
)
from poppy_operations.lifecycle import asking, claims
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.models import Operation, Revision
from poppy_operations.protocol.operation import ReturnedOperation
from poppy_operations.sessions.clock import epoch
from poppy_operations.summaries import warn_in_debug

# How many live revisions an owner may have, approved and performing ones among them, for each
# revision that may be open.
LIVE_FOR_EACH_OPEN = 10
LONG = timedelta(minutes=1)


def ask(asked: Ask, rows: Sequence[Revision] | None = None) -> Answer:
    """Answer with the operation. ``rows`` are the owner's live revisions if they were just read.

    Raises ``Busy`` if others were faster too often.
    """
    if asked.caller.refusal is not None:
        return Undeclared(asked.caller.refusal.response)
    for _ in range(TRIES_BESIDE_OTHERS):
        is_fresh = rows is None
        if rows is None:
            # Most have nothing open.
            is_first = not has_live(asked.owner)
            rows = [] if is_first else live_revisions(asked.owner, asked.call.now, asked.slots)
        answer = _ask_once(asked, rows)
        # What was performing before the site said its terms may be performed by now.
        if answer is not None and (is_fresh or not isinstance(answer, StillPerforming)):
            return answer
        rows = None
    message = "Others asked for the same action at the same time, again and again."
    raise Busy(message)


def _ask_once(asked: Ask, rows: Sequence[Revision]) -> Answer | None:
    now = asked.call.now
    mine = asked.of_slot(rows)
    operation = mine[0].operation if mine else None
    if operation is not None and operation.state == Operation.State.PERFORMING:
        if claims.is_lapsed(operation, now):
            claims.free(operation, now)
            return None
        if not asked.caller.interface.repeated_while_performing:
            return still_performing(operation)
    for revision in mine:
        if asked.is_same(revision) and _is_for(asked, revision):
            revision.terms = asked.wanted.terms.text  # the same, or it would not match
            return returned(revision, asked.caller, differing=differing_fields(asked, rows))
    limited = _make_room(asked, rows)
    if limited is not None:
        return limited
    warn_in_debug(asked.call.action.name, asked.wanted.terms)
    row = _asked_row(asked)
    new = (
        asking.return_operation(row, now)
        if operation is None
        else asking.return_revision(row, operation, now)
    )
    return (
        None
        if new is None
        else returned(new, asked.caller, differing=differing_fields(asked, rows))
    )


def _is_for(asked: Ask, revision: Revision) -> bool:
    return (
        serves_again(revision, asked.call.now)
        and revision.revision != asked.named
        and not is_in_use(revision)
        and (record_of(revision) is None or has_record(revision))
    )


def _make_room(asked: Ask, rows: Sequence[Revision]) -> ErrorAnswer | None:
    """Keep an owner's unexpired revisions without approval below the cap, and all rows bounded.

    A revision whose terms nobody has seen gives way; if all were seen, the ask has to wait.
    """
    now = asked.call.now
    if len(rows) >= conf.open_revisions * LIVE_FOR_EACH_OPEN:
        return _rate_limited(rows, now)
    waiting = [
        revision
        for revision in rows
        if is_returnable(revision, now) and record_of(revision) is None
    ]
    if len(waiting) < conf.open_revisions:
        return None
    # Rows without a record come in the order in which they were returned.
    oldest = next((revision for revision in waiting if revision.looked_up_at is None), None)
    if oldest is not None:
        asking.give_way(oldest)
        return None
    return _rate_limited(waiting, now)


def _rate_limited(rows: Sequence[Revision], now: datetime) -> ErrorAnswer:
    """The answer until the first of the revisions expires, or an attempt may have ended."""
    waits = [row.expires_at - seconds(now) for row in rows if not is_expired(row, now)]
    wait_s = int(min(waits, default=LONG).total_seconds()) + 1
    return ErrorAnswer("rate_limited", headers={"Retry-After": str(wait_s)})


def _asked_row(asked: Ask) -> asking.Asked:
    call, terms = asked.call, asked.wanted.terms
    return asking.Asked(
        action=call.action.name,
        prefix=call.action.prefix,
        interface=asked.caller.interface.name,
        owner=asked.owner,
        conversation=call.conversation,
        slot=asked.slots[0],
        earlier_slots=asked.slots[1:],
        terms=terms.text,
        terms_digest=terms.digest,
        target_digest=call.target_digests(asked.owner)[0],
        raw_digest=call.sent_digests(asked.owner)[0],
        content_digest=asked.content_digests[0],
        content_fields=asked.wanted.parts.field_digests(asked.owner)[0],
        summary=terms.summary_text,
        lifetime=call.action.lifetime,
    )


def ask_under_way(
    call: Call, caller: Caller, in_use: Revision, rows: Sequence[Revision]
) -> Answer | Lost:
    """Give a further revision to a browser whose very request is being performed (AMB-13).

    The site is not asked for terms again: the action may already have changed them. ``Lost`` if the
    attempt has ended meanwhile.
    """
    if caller.refusal is not None or caller.owner is None:
        return still_performing(in_use.operation)
    operation = in_use.operation
    for _ in range(TRIES_BESIDE_OTHERS):
        for revision in rows:
            if revision.operation_id == operation.pk and _repeats(revision, in_use, call):
                return returned(revision, caller)
        read_in_full(in_use)
        asked = asking.Asked.again(in_use, prefix=call.action.prefix, lifetime=call.action.lifetime)
        further = asking.return_revision(asked, operation, call.now)
        if further is not None:
            return returned(further, caller)
        rows = live_revisions(caller.owner, call.now)
        current = [row.operation for row in rows if row.pk == in_use.pk and is_in_use(row)]
        if not current:
            return Lost()
        operation = current[0]
    return still_performing(in_use.operation)


def _repeats(revision: Revision, in_use: Revision, call: Call) -> bool:
    return (
        revision.pk != in_use.pk
        and revision.terms_digest == in_use.terms_digest
        and revision.content_digest == in_use.content_digest
        and serves_again(revision, call.now)
    )


def returned(
    revision: Revision, caller: Caller, *, differing: tuple[str, ...] = ()
) -> ApprovalRequired:
    """A stored revision as the answer that asks for its approval."""
    read_what_is_told(revision)
    return ApprovalRequired(
        operation=as_returned(revision),
        sid=caller.sid,
        ref=revision.ref or "",
        watch=revision.watch or "",
        under_way=revision.operation.state == Operation.State.PERFORMING,
        differing=differing,
    )


def as_returned(revision: Revision) -> ReturnedOperation:
    """The operation as agents see it (3)."""
    return ReturnedOperation(
        operation_id=revision.operation.operation_id,
        revision=revision.revision,
        terms=revision.terms,
        expires_at=epoch(revision.expires_at),
        summary=revision.summary,
    )
