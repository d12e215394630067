"""Ending an outcome that nobody knew: by reconcile, or by a person."""

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
    """Whether the attempt ended as unknown, or its lease is over, and somebody has to say more.

    Database attempts and those that no worker started are freed instead: they did nothing, and a
    verdict on one that still runs would undo it.
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
    """End the unknown outcome of the attempt that was examined; ``None``: not performed.

    ``operation`` is the row as it was examined: another attempt since then is not judged by it.
    Reconcile has made sure that the outside refuses the key of an attempt that was not performed;
    a person has not, so the key stays the same then. ``void`` names approvals of an operation that
    was not performed: they are voided in the same commit, before anybody can use them.

    False where it no longer is that attempt's to judge. Raises ``ValueError`` for an operation
    that no attempt was ever begun of, ``TypeError`` where ``by`` or ``because`` is no text, and
    ``Busy``.
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
        # An earlier try has given it an ID, which on SQLite may be another row's by now.
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
    """The row of an earlier try, whose commit took effect and went unheard."""
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
    settled = _examined(operation, now).update(**performed_changes(operation))
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
    """Give the attempts to come another key, where a person had settled first.

    The outside refuses the key by now, to an attempt that has begun since as well; whatever that
    one did under it before, reconcile would have told as performed.
    """
    Operation.objects.using(write_alias()).filter(
        pk=operation.pk, barred_keys=operation.barred_keys
    ).exclude(state=Operation.State.PERFORMED).update(barred_keys=F("barred_keys") + 1)
