"""Ending an unknown outcome, by reconcile or by a person (7)."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.db.models import F, Q, QuerySet

from poppy_operations.lifecycle.approving import void_among
from poppy_operations.lifecycle.claims import of_attempt, open_changes
from poppy_operations.lifecycle.durable import durably
from poppy_operations.lifecycle.finishing import performed_changes, store_performance
from poppy_operations.models import Approval, Operation, Performance, Settlement
from poppy_operations.models.databases import write_alias
from poppy_operations.protocol.stored_answer import StoredAnswer
from poppy_operations.signals import operation_settled, tell


def can_settle(operation: Operation, now: datetime) -> bool:
    """Whether somebody may settle the attempt: its outcome is unknown, or its lease is over.

    Database attempts, and attempts that no worker started, are freed instead: they did nothing. If
    one of them still ran, a verdict on it would undo its work.
    """
    is_over = operation.outcome_unknown_since is not None or (
        operation.lease_until is not None and operation.lease_until < now
    )
    return (
        operation.state == Operation.State.PERFORMING
        and operation.effects == Operation.Effects.EXTERNAL
        and operation.started_at is not None
        and is_over
    )


def settleable(now: datetime) -> Q:
    """``can_settle`` as the database sees it, beginning with the state, which has an index."""
    started_outside = Q(effects=Operation.Effects.EXTERNAL, started_at__isnull=False)
    return Q(state=Operation.State.PERFORMING) & started_outside & ended_or_over(now)


def settle(
    operation: Operation,
    answer: StoredAnswer | None,
    *,
    how: str,
    by: str,
    because: str,
    now: datetime,
    void: Collection[UUID] = (),
) -> bool:
    """End the unknown outcome of the examined attempt; ``answer`` is ``None`` if it did nothing.

    ``operation`` is the row as it was examined: an attempt that began since then is not judged.
    If reconcile says that an attempt was not performed, the outside refuses its key from now on,
    and the next attempt has another. A person cannot make sure of that, so the key then stays the
    same. ``void`` names approvals to void in the same commit, before anybody can use them, if the
    operation was not performed.

    False if the attempt cannot be settled any more. Raises ``ValueError`` if the operation never
    had an attempt, ``TypeError`` if ``by`` or ``because`` is no text, and ``Busy`` if the database
    is locked, unreachable or read-only.
    """
    _ensure_text(by=by, because=because)
    approval_id = operation.approval_id
    if approval_id is None:
        message = f"{operation.operation_id} has no attempt to settle."
        raise ValueError(message)
    settlement = Settlement(
        operation=operation,
        attempt=operation.attempt,
        outcome=(
            Settlement.Outcome.NOT_PERFORMED if answer is None else Settlement.Outcome.PERFORMED
        ),
        settled_by=by,
        because=because,
        settled_at=now,
        started_at=operation.started_at,
        unknown_since=operation.outcome_unknown_since,
    )

    def write() -> bool:
        if answer is None:
            settled = _not_performed(settlement, void, is_barred=how == Performance.How.RECONCILED)
        else:
            settled = _performed(settlement, approval_id, answer, how)
        # A first try has given the row an ID, which on SQLite may be another row's by now.
        tried, settlement.pk = settlement.pk is not None, None
        if settled:
            settlement.save(using=write_alias())
        elif tried:
            settlement.pk = _settled_before(settlement)
        return settlement.pk is not None

    settled = durably(write)
    if settled:
        operation.state = Operation.State.OPEN if answer is None else Operation.State.PERFORMED
        performance = None if answer is None else operation.performance
        tell(
            operation_settled,
            operation=operation,
            settlement=settlement,
            performance=performance,
        )
    return settled


def _ensure_text(**named: object) -> None:
    for name, text in named.items():
        if not isinstance(text, str):
            kind = type(text).__name__
            message = f"{name}= is text, such as str(user), not an object of type {kind}."
            raise TypeError(message)


def _settled_before(settlement: Settlement) -> int | None:
    """The row of a first try whose commit took effect, while its answer was lost."""
    names = ("operation", "attempt", "outcome", "settled_by", "because", "settled_at")
    same = {name: getattr(settlement, name) for name in names}
    return (
        Settlement.objects.using(write_alias()).filter(**same).values_list("pk", flat=True).first()
    )


def _not_performed(settlement: Settlement, void: Collection[UUID], *, is_barred: bool) -> bool:
    operation, now = settlement.operation, settlement.settled_at
    barred = F("barred_keys") + (1 if is_barred else 0)
    settled = _examined(operation, now).update(barred_keys=barred, **open_changes())
    if settled:
        by, because = settlement.settled_by, settlement.because
        void_among(operation, void, by=by, because=because, now=now)
    elif is_barred:
        _remember_barred_key(operation)
    return bool(settled)


def _performed(settlement: Settlement, approval_id: UUID, answer: StoredAnswer, how: str) -> bool:
    operation, now = settlement.operation, settlement.settled_at
    settled = _examined(operation, now).update(**performed_changes(operation.interface))
    if settled:
        approval = Approval.objects.using(write_alias()).get(pk=approval_id)
        attempt = settlement.attempt
        store_performance(operation, approval, answer, attempt=attempt, now=now, how=how)
    return bool(settled)


def ended_or_over(now: datetime) -> Q:
    """The attempts that ended as unknown, or whose lease is over."""
    return Q(outcome_unknown_since__isnull=False) | Q(lease_until__lt=now)


def _examined(operation: Operation, now: datetime) -> QuerySet[Operation]:
    """The attempt that was examined, as long as it can be settled."""
    return of_attempt(operation, operation.attempt).filter(settleable(now))


def _remember_barred_key(operation: Operation) -> None:
    """Give later attempts another key if a person had settled first.

    The outside refuses the old key by now, also to an attempt that has begun since. If that attempt
    had done anything under the key before, reconcile would have said that it was performed.
    """
    Operation.objects.using(write_alias()).filter(
        pk=operation.pk, barred_keys=operation.barred_keys
    ).exclude(state=Operation.State.PERFORMED).update(barred_keys=F("barred_keys") + 1)
