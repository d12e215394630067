"""The operations that do not end by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.urls import NoReverseMatch, reverse

from poppy_operations.discovery import action_called
from poppy_operations.lifecycle import claims
from poppy_operations.lifecycle.durable import busy_if_unusable
from poppy_operations.maintenance.batches import attempts_over, in_batches
from poppy_operations.maintenance.results import Stuck
from poppy_operations.models import Operation
from poppy_operations.models.instants import instant

FIND_OUT = "Look for the idempotency key in what the action has called, then settle the operation."
NEXT_STEPS = {
    "unknown outcome": f"Run poppy_reconcile. If this stays, the hook does not know. {FIND_OUT}",
    "no reconcile hook": FIND_OUT,
    "action gone": f"The code declares no such action. {FIND_OUT}",
    "lapsed": "Nothing: the next request or poppy_reconcile frees it.",
}


def stuck(*, now: datetime | None = None) -> Sequence[Stuck]:
    """List the operations that do not end by themselves, oldest first. Raises ``Busy``."""
    moment = instant(now)
    with busy_if_unusable():
        found = [_stuck(operation, moment) for operation in in_batches(attempts_over(moment))]
    return sorted(found, key=lambda item: item.since)


def _stuck(operation: Operation, now: datetime) -> Stuck:
    why = _why(operation, now)
    return Stuck(
        operation_id=operation.operation_id,
        action=operation.action,
        interface=operation.interface,
        since=operation.outcome_unknown_since or operation.lease_until or now,
        why=why,
        needs_somebody=why != "lapsed",
        next_step=NEXT_STEPS[why],
        idempotency_key=operation.idempotency_key,
        client_id=operation.client_id,
        account=operation.account,
        admin_path=_admin_path(operation),
    )


def _admin_path(operation: Operation) -> str:
    try:
        return reverse("admin:poppy_operations_operation_change", args=(operation.pk,))
    except NoReverseMatch:
        return ""


def _why(operation: Operation, now: datetime) -> str:
    if claims.is_lapsed(operation, now):
        return "lapsed"
    action = action_called(operation.action)
    if action is None:
        return "action gone"
    return "unknown outcome" if action.reconcile_hook else "no reconcile hook"
