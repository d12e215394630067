"""At most once: the transitions of an attempt (7).

Each is one conditional UPDATE whose row count decides. ``attempt`` is a random token made by the
caller; whoever holds another one has lost.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Least
from django.utils import timezone

from poppy_operations.conf import conf
from poppy_operations.declarations import LONGEST_LEASE
from poppy_operations.lifecycle.durable import committed, durably, using
from poppy_operations.models import Approval, Operation, Performance, Revision
from poppy_operations.protocol.ids import new_attempt
from poppy_operations.signals import operation_performed, outcome_unknown, tell

# By how much the clocks of servers may differ. Whatever began later than that began by a wrong one.
CLOCKS_DIFFER = timedelta(minutes=1)


@dataclass(frozen=True)
class StoredAnswer:
    """The answer to give again: status, headers and, where it can be stored, the body."""

    status: int
    headers: Sequence[tuple[str, str]] = ()
    body: bytes | None = None


class Finish(Enum):
    """How the end of an attempt met the operation."""

    FINISHED = "finished"
    LATE = "late"
    LOST = "lost"


_ENDS: dict[str | None, Finish] = {
    Performance.How.FINISHED: Finish.FINISHED,
    Performance.How.LATE: Finish.LATE,
}


def _operations(operation: Operation) -> QuerySet[Operation]:
    return Operation.objects.using(using()).filter(pk=operation.pk)


def of_attempt(operation: Operation, attempt: str) -> QuerySet[Operation]:
    """The operation, as long as this attempt has the claim."""
    return _operations(operation).filter(state=Operation.State.PERFORMING, attempt=attempt)


def begin(
    operation: Operation,
    approval: Approval,
    *,
    attempt: str,
    effects: str,
    lease_s: int,
    now: datetime,
    queued: bool = False,
) -> bool:
    """Claim the operation for ``attempt``, in a commit of its own. False: another one did.

    ``operation`` is the row that the checks have read: whatever invalidated them since has
    changed its ``attempt``. An approval that is not stored yet is stored in the same commit.
    Raises ``Busy``.
    """
    in_database = effects == Operation.Effects.DATABASE
    length = max(lease_s, operation.lease_s) if in_database else lease_s
    lease = conf.queue_lease if queued else timedelta(seconds=length)

    def write() -> bool:
        claimed = (
            _operations(operation)
            .filter(state=Operation.State.OPEN, attempt=operation.attempt)
            .update(
                state=Operation.State.PERFORMING,
                attempt=attempt,
                approval=approval.pk,
                effects=effects,
                lease_s=length,
                lease_until=now + lease,
                refusal=None,
                enqueued_at=now if queued else None,
                started_at=None if queued else now,
            )
        )
        if claimed and approval._state.adding:  # noqa: SLF001  Django's documented flag
            approval.save(using=using())
        return bool(claimed)

    return committed(write)


def enqueue_again(operation: Operation, now: datetime) -> bool:
    """Claim to hand a queued attempt to the queue once more. False: another one did, or it is over.

    ``operation`` is the row that says when it was handed over last.
    """
    waiting = of_attempt(operation, operation.attempt).filter(
        started_at=None, enqueued_at=operation.enqueued_at
    )
    return bool(committed(lambda: waiting.update(enqueued_at=now)))


def start(operation: Operation, attempt: str, now: datetime) -> bool:
    """Start a queued attempt in its worker. False: somebody has started it, or it is over."""
    unstarted = of_attempt(operation, attempt).filter(started_at=None)
    lease_until = now + timedelta(seconds=operation.lease_s)
    return bool(committed(lambda: unstarted.update(started_at=now, lease_until=lease_until)))


def hold(operation: Operation, attempt: str) -> bool:
    """Write first in the transaction of the effects, which on SQLite takes the write lock."""
    return bool(of_attempt(operation, attempt).update(attempt=attempt))


def finish(
    operation: Operation,
    approval: Approval,
    answer: StoredAnswer,
    *,
    attempt: str,
    now: datetime,
) -> bool:
    """Finish a database attempt, inside the transaction of its effects. False: it was taken over.

    The caller rolls everything back where this is false.
    """
    finished = of_attempt(operation, attempt).update(**performed_changes(operation))
    if finished:
        store_performance(
            operation, approval, answer, attempt=attempt, now=now, how=Performance.How.FINISHED
        )
    return bool(finished)


def finish_external(
    operation: Operation,
    approval: Approval,
    answer: StoredAnswer,
    *,
    attempt: str,
    now: datetime,
) -> Finish:
    """Finish an external attempt in a commit of its own; what happened is never rolled back.

    ``LATE``: the attempt had been given up, and the operation is performed all the same.
    ``LOST``: the operation was performed already. The caller reports both loudly.
    """

    def write() -> Finish:
        performed = performed_changes(operation)
        if of_attempt(operation, attempt).update(**performed):
            how, end = Performance.How.FINISHED, Finish.FINISHED
        elif _operations(operation).exclude(state=Operation.State.PERFORMED).update(**performed):
            how, end = Performance.How.LATE, Finish.LATE
        else:
            return _ended_before(operation, attempt)
        store_performance(operation, approval, answer, attempt=attempt, now=now, how=how)
        return end

    return durably(write)


def _ended_before(operation: Operation, attempt: str) -> Finish:
    """How it ended: perhaps by the first try of this very write, whose commit went unheard."""
    performed = Performance.objects.using(using()).filter(operation=operation, attempt=attempt)
    how = performed.values_list("how", flat=True).first()
    return _ENDS.get(how, Finish.LOST)


def performed_changes(operation: Operation) -> dict[str, object]:
    """What an operation becomes when it was performed. In review its slot outlives that."""
    changes: dict[str, object] = {
        "state": Operation.State.PERFORMED,
        "outcome_unknown_since": None,
        "lease_until": None,
    }
    in_review = operation.interface == Operation.Interface.REVIEW
    return changes if in_review else {**changes, "slot": None}


def store_performance(
    operation: Operation,
    approval: Approval,
    answer: StoredAnswer,
    *,
    attempt: str,
    now: datetime,
    how: str,
) -> Performance:
    """Keep the answer to give again."""
    return Performance.objects.using(using()).create(
        operation=operation,
        revision_id=approval.revision_id,
        approval=approval,
        attempt=attempt,
        how=how,
        status=answer.status,
        headers=json.dumps([list(pair) for pair in answer.headers]),
        body=answer.body,
        finished_at=now,
    )


def tell_performed(revision: Revision, approval: Approval, *, late: bool = False) -> None:
    """Tell the receivers of ``operation_performed``, after the commit of what finished it."""
    operation = revision.operation
    operation.state = Operation.State.PERFORMED
    performance = operation.performance
    approval.operation, approval.revision, performance.revision = operation, revision, revision
    tell(
        operation_performed,
        operation=operation,
        revision=revision,
        approval=approval,
        performance=performance,
        late=late,
    )


def release(operation: Operation, attempt: str, refusal: str | None = None) -> bool:
    """Open the operation again after an attempt without effect. False: it is not this attempt's.

    ``refusal`` is for ``take_refusal``. Raises ``Busy``; the lease then ends the attempt.
    """
    claimed = of_attempt(operation, attempt)
    return bool(durably(lambda: claimed.update(**open_changes(), refusal=refusal)))


def refusal_text(revision: Revision, answer: StoredAnswer) -> str:
    """What is stored of the answer of a worker that did not perform a revision."""
    body = None if answer.body is None else b64encode(answer.body).decode()
    return json.dumps([revision.revision, answer.status, list(answer.headers), body])


def refusal_of(operation: Operation, revision: Revision) -> StoredAnswer | None:
    """The answer of the worker that did not perform this revision, as long as nobody took it."""
    if operation.refusal is None:
        return None
    named, status, headers, body = json.loads(operation.refusal)
    if named != revision.revision:
        return None
    pairs = [(name, value) for name, value in headers]
    return StoredAnswer(status, pairs, None if body is None else b64decode(body))


def take_refusal(operation: Operation) -> bool:
    """Take the answer of the worker for one repeat. False: another one did, or has begun."""
    refused = _operations(operation).filter(
        state=Operation.State.OPEN, attempt=operation.attempt, refusal__isnull=False
    )
    return bool(committed(lambda: refused.update(refusal=None)))


def release_unstarted(operation: Operation, attempt: str) -> bool:
    """Open the operation again after a queued attempt that no worker has started."""
    unstarted = of_attempt(operation, attempt).filter(started_at=None)
    return bool(durably(lambda: unstarted.update(**open_changes())))


def open_changes() -> dict[str, object]:
    """What an operation becomes when it was not: open to other attempts than the last one."""
    return {
        "state": Operation.State.OPEN,
        "attempt": new_attempt(),
        "approval": None,
        "lease_until": None,
        "started_at": None,
        "outcome_unknown_since": None,
    }


def is_lapsed(operation: Operation, now: datetime) -> bool:
    """Whether an attempt is over by its lease and can do nothing any more.

    Or whether it began by a clock that was ahead, and would be waited for as long as that was.
    """
    if operation.state != Operation.State.PERFORMING or operation.lease_until is None:
        return False
    if operation.started_at is None:
        is_ahead = operation.lease_until > _latest(now) + conf.queue_lease
    elif operation.effects == Operation.Effects.DATABASE:
        is_ahead = operation.started_at > _latest(now)
    else:
        return False
    return operation.lease_until < now or is_ahead


def lapsed(now: datetime) -> Q:
    """``is_lapsed`` as the database sees it, beginning with the state, which has an index."""
    is_over = Q(lease_until__lt=now)
    unstarted = is_over | Q(lease_until__gt=_latest(now) + conf.queue_lease)
    started = is_over | Q(started_at__gt=_latest(now))
    return Q(state=Operation.State.PERFORMING, lease_until__isnull=False) & (
        (Q(started_at__isnull=True) & unstarted)
        | (Q(started_at__isnull=False, effects=Operation.Effects.DATABASE) & started)
    )


def _latest(now: datetime) -> datetime:
    """When an attempt may have begun at the latest; ``now`` may be when a long request came."""
    return max(now, timezone.now()) + CLOCKS_DIFFER


def free(operation: Operation, now: datetime) -> bool:
    """Open an operation whose attempt lapsed; the next lease is twice as long.

    Only a database attempt, which can then no longer commit, or one that no worker ever started:
    both can be opened at any time.
    """
    seen = of_attempt(operation, operation.attempt).filter(lapsed(now))
    lease_s = Least(F("lease_s") * 2, int(LONGEST_LEASE.total_seconds()))
    return bool(durably(lambda: seen.update(lease_s=lease_s, **open_changes())))


def mark_unknown(operation: Operation, attempt: str, now: datetime) -> bool:
    """Note that nobody knows whether an external attempt took effect."""
    claimed = of_attempt(operation, attempt)
    marked = bool(durably(lambda: claimed.update(outcome_unknown_since=now)))
    if marked:
        operation.state = Operation.State.PERFORMING
        operation.outcome_unknown_since = now
        tell(outcome_unknown, operation=operation, attempt=attempt)
    return marked
