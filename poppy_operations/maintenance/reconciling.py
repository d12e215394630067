"""Finding out what became of attempts whose outcome nobody knows (7)."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from poppy_operations.declarations.outcomes import NotPerformed
from poppy_operations.discovery import action_called
from poppy_operations.gate.approvals import current_operation
from poppy_operations.lifecycle import claims
from poppy_operations.lifecycle.durable import Busy, busy_if_unusable
from poppy_operations.lifecycle.settling import settle
from poppy_operations.logs import about, log_of
from poppy_operations.maintenance.batches import attempts_over, in_batches
from poppy_operations.maintenance.by_hand import answer_of
from poppy_operations.maintenance.requeueing import requeue
from poppy_operations.maintenance.results import Interrupted, Reconciled
from poppy_operations.models import Operation, Performance
from poppy_operations.models.instants import instant


def reconcile(*, now: datetime | None = None, dry_run: bool = False) -> Reconciled:
    """Ask the external actions what became of their attempts of unknown outcome.

    Each operation is read again just before its hook is asked, so that no hook is asked while
    another attempt runs. If a hook raises, the outcome stays unknown. Lapsed attempts, which did
    nothing, are freed. Queued attempts that no worker has started are enqueued again, as by
    ``requeue``. With ``dry_run`` no hook is asked and nothing is changed. Raises ``Interrupted``, a
    ``Busy`` that says how attempts ended before.
    """
    ends: Counter[str] = Counter()
    try:
        with busy_if_unusable():
            ends.update(_would_end(now) if dry_run else _ends(now))
            ends["requeued"] = requeue(now=now, dry_run=dry_run)
    except Busy as error:
        raise Interrupted(Reconciled(**ends)) from error
    return Reconciled(**ends)


def _would_end(now: datetime | None) -> Iterator[str]:
    """Say what would end, as far as that is known without asking."""
    moment = instant(now)
    for operation in in_batches(attempts_over(moment)):
        yield "freed" if claims.is_lapsed(operation, moment) else "still_unknown"


def _ends(now: datetime | None) -> Iterator[str]:
    """End what can be ended, and say how."""
    for found in in_batches(attempts_over(instant(now)).only("pk")):
        moment = instant(now)
        examined = attempts_over(moment).select_related("approval__revision").filter(pk=found.pk)
        operation = examined.first()
        if operation is not None:
            end = _end_of(operation, moment)
            if end != "still_unknown":
                _log_attempt(logging.INFO, f"Reconciled: {end.replace('_', ' ')}.", operation)
            yield end


def _end_of(operation: Operation, now: datetime) -> str:
    try:
        if claims.is_lapsed(operation, now):
            return "freed" if claims.free(operation, now) else "still_unknown"
        return _reconciled(operation, now)
    except Busy:
        _log_attempt(
            logging.WARNING,
            "The database is locked, unreachable or read-only; still unknown.",
            operation,
        )
    except Exception as error:  # noqa: BLE001  whatever the site's hook does means still unknown
        _log_attempt(logging.ERROR, "The reconcile hook failed; still unknown.", operation, error)
    return "still_unknown"


def _reconciled(operation: Operation, now: datetime) -> str:
    action = action_called(operation.action)
    if action is None:
        _log_attempt(
            logging.WARNING, "An attempt's action is not declared; still unknown.", operation
        )
    hook = None if action is None else action.reconcile_hook
    if hook is None or operation.approval is None:
        return "still_unknown"
    revision = operation.approval.revision
    revision.operation = operation
    found: object = hook(current_operation(revision, None))
    if found is None:
        return "still_unknown"
    answer = None if isinstance(found, NotPerformed) else answer_of(found, operation)
    how = Performance.How.RECONCILED
    if not settle(operation, answer, how=how, by="reconcile", because="", now=now):
        return "still_unknown"
    return "not_performed" if answer is None else "performed"


def _log_attempt(
    level: int, message: str, operation: Operation, error: BaseException | None = None
) -> None:
    log_of(level, message, **about(operation), error=error)
