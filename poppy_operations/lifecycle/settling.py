"""Ending an outcome that nobody knew: by reconcile, or by a person."""

from __future__ import annotations

from datetime import datetime

from django.db.models import F, Q

from poppy_operations.lifecycle.durable import durably, using
from poppy_operations.lifecycle.performing import (
    StoredAnswer,
    of_attempt,
    open_changes,
    performed_changes,
    store_performance,
)
from poppy_operations.models import Operation, Performance, Settlement
from poppy_operations.signals import operation_settled, tell


def settle(
    operation: Operation,
    answer: StoredAnswer | None,
    *,
    how: str,
    by: str,
    because: str,
    now: datetime,
) -> bool:
    """End the unknown outcome of the attempt that was examined; ``None``: not performed.

    ``operation`` is the row as it was examined: another attempt since then is not judged by it.
    Reconcile has made sure that the outside refuses the key of an attempt that was not performed;
    a person has not, so the key stays the same then.

    False where it no longer is that attempt's to judge. Raises ``ValueError`` for an operation
    that no attempt was ever begun of.
    """
    approval = operation.approval
    if approval is None:
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
    )

    def write() -> bool:
        examined = of_attempt(operation, operation.attempt).filter(
            Q(outcome_unknown_since__isnull=False) | Q(lease_until__lt=now)
        )
        if answer is None:
            barred = 1 if how == Performance.How.RECONCILED else 0
            settled = examined.update(barred_keys=F("barred_keys") + barred, **open_changes())
        else:
            keeps_slot = operation.interface == Operation.Interface.REVIEW
            settled = examined.update(**performed_changes(keeps_slot=keeps_slot))
            if settled:
                store_performance(
                    operation, approval, answer, attempt=operation.attempt, now=now, how=how
                )
        if settled:
            settlement.save(using=using(), force_insert=True)
        return bool(settled)

    settled = durably(write)
    if settled:
        operation.state = Operation.State.OPEN if answer is None else Operation.State.PERFORMED
        tell(operation_settled, operation=operation, settlement=settlement)
    return settled
