"""The claim of an attempt: begin, release, and free what lapsed (7).

Each transition is one conditional UPDATE whose row count decides. ``attempt`` is a random token
made by the caller; whoever holds another one has lost.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Least

from poppy_operations.conf import conf
from poppy_operations.lifecycle.durable import committed, durably
from poppy_operations.models import Approval, Operation, instants
from poppy_operations.models.databases import write_alias
from poppy_operations.models.inserting import insert
from poppy_operations.models.statements import Change, Changing, given
from poppy_operations.protocol.ids import new_attempt

# How far servers' clocks may be apart. An attempt that began later began by a wrong clock.
CLOCKS_DIFFER = timedelta(minutes=1)
# The lease of an action may be longer; what take-overs make of a shorter one may not.
LONGEST_DOUBLED_LEASE = timedelta(hours=1)


def rows_of(operation: Operation) -> QuerySet[Operation]:
    """The operation, in whatever state it is."""
    return Operation.objects.using(write_alias()).filter(pk=operation.pk)


def of_attempt(operation: Operation, attempt: str) -> QuerySet[Operation]:
    """The operation, as long as this attempt has the claim."""
    return rows_of(operation).filter(state=Operation.State.PERFORMING, attempt=attempt)


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
    """Claim the operation for ``attempt``, in a commit of its own. False if another attempt did.

    ``operation`` is the row that the checks have read: any change that invalidates the checks also
    changes its ``attempt``. An approval that is not stored yet is stored in the same commit.
    Raises ``Busy``.
    """
    in_database = effects == Operation.Effects.DATABASE
    length = max(lease_s, operation.lease_s) if in_database else lease_s
    lease = conf.queue_lease if queued else timedelta(seconds=length)

    def write() -> bool:
        claimed = _CLAIM.rows(
            id=operation.pk,
            held=operation.attempt,
            attempt=attempt,
            approval=approval.pk,
            effects=effects,
            lease_s=length,
            lease_until=now + lease,
            enqueued_at=now if queued else None,
            started_at=None if queued else now,
        )
        if claimed and approval._state.adding:  # noqa: SLF001  Django's documented flag
            insert(approval)
        return bool(claimed)

    return committed(write)


def _claiming() -> Change:
    of = partial(given, Operation)
    return Change(
        Operation.objects.filter(
            id=of("id"), state=Operation.State.OPEN, attempt=of("attempt", "held")
        ),
        {
            "state": Operation.State.PERFORMING,
            "attempt": of("attempt"),
            "approval": of("approval"),
            "effects": of("effects"),
            "lease_s": of("lease_s"),
            "lease_until": of("lease_until"),
            "refusal": None,
            "enqueued_at": of("enqueued_at"),
            "started_at": of("started_at"),
        },
    )


_CLAIM = Changing(_claiming)


def hold(operation: Operation, attempt: str) -> bool:
    """Write first in the transaction of the effects, which on SQLite takes the write lock."""
    return bool(_HOLD.rows(id=operation.pk, attempt=attempt))


def given_attempt() -> QuerySet[Operation]:
    """The operation that a statement is given, as long as the attempt that it is given has it."""
    return Operation.objects.filter(
        id=given(Operation, "id"),
        state=Operation.State.PERFORMING,
        attempt=given(Operation, "attempt"),
    )


_HOLD = Changing(lambda: Change(given_attempt(), {"attempt": given(Operation, "attempt")}))


def release(operation: Operation, attempt: str, worker_answer: str | None = None) -> bool:
    """Open the operation again after an attempt without effect. False: it is not this attempt's.

    ``worker_answer`` is what ``take_worker_answer`` takes. Raises ``Busy``; the lease then ends
    the attempt.
    """
    claimed = of_attempt(operation, attempt)
    return bool(durably(lambda: claimed.update(**open_changes(), refusal=worker_answer)))


def open_changes() -> dict[str, object]:
    """The changes of an operation that was not performed: open to any attempt but the last one."""
    return {
        "state": Operation.State.OPEN,
        "attempt": new_attempt(),
        "approval": None,
        "lease_until": None,
        "started_at": None,
        "outcome_unknown_since": None,
    }


def is_lapsed(operation: Operation, now: datetime) -> bool:
    """Whether the lease of an attempt is over, and the attempt can do nothing any more.

    An attempt has lapsed as well if the clock by which it began was ahead: its lease would last too
    long by as much.
    """
    if operation.state != Operation.State.PERFORMING or operation.lease_until is None:
        return False
    if operation.started_at is None:
        is_ahead = operation.lease_until > _latest(now) + conf.queue_lease
    elif operation.effects == Operation.Effects.DATABASE:
        is_ahead = operation.started_at > _latest(now)
    else:
        return False
    return bool(operation.lease_until < now) or is_ahead


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
    """The latest time at which an attempt may have begun; a long request's ``now`` is long past."""
    return max(now, instants.now()) + CLOCKS_DIFFER


def free(operation: Operation, now: datetime) -> bool:
    """Open an operation whose attempt lapsed; the next lease is twice as long.

    Opens only after a database attempt, which can then no longer commit, or after an attempt that
    no worker ever started: both can be ended at any time. False if the attempt ended before.
    """
    seen = of_attempt(operation, operation.attempt).filter(lapsed(now))
    lease_s = Least(F("lease_s") * 2, int(LONGEST_DOUBLED_LEASE.total_seconds()))
    return bool(durably(lambda: seen.update(lease_s=lease_s, **open_changes())))
