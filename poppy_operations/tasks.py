"""Celery tasks (extra ``celery``): background attempts, and maintenance as one-line wrappers.

A schedule names ``poppy_operations.purge``, ``poppy_operations.reconcile`` and, to have queued
attempts enqueued again sooner, ``poppy_operations.requeue``; docs/how-to/maintenance.md has one.

``POPPY_OPERATIONS["QUEUE"]`` names this module's ``enqueue`` unless it is set to something else.
"""

from __future__ import annotations

from celery import shared_task

from poppy_operations import maintenance
from poppy_operations.background import perform_attempt


# If a worker dies with an attempt, its message goes back to the queue: the next worker starts the
# attempt, or finds that it was started.
@shared_task(
    name="poppy_operations.perform",
    acks_late=True,
    reject_on_worker_lost=True,
    ignore_result=True,
)
def perform(operation_id: str, attempt: str) -> None:
    """Perform a queued attempt; if the message comes twice, the second one finds it started."""
    perform_attempt(operation_id, attempt)


def enqueue(operation_id: str, attempt: str) -> None:
    """Hand an attempt to Celery. Raises if the broker does not take it."""
    perform.delay(operation_id, attempt)


@shared_task(name="poppy_operations.purge")
def purge() -> dict[str, int]:
    """Forget operations and joins that need not be remembered any more."""
    return maintenance.counts(maintenance.purge())


@shared_task(name="poppy_operations.reconcile")
def reconcile() -> dict[str, int]:
    """Do what ``manage.py poppy_reconcile`` does."""
    return maintenance.counts(maintenance.reconcile())


@shared_task(name="poppy_operations.requeue")
def requeue() -> int:
    """Enqueue attempts again that no worker has started; return their number."""
    return maintenance.requeue()
