"""Handing attempts that no worker started to the queue once more."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from poppy_operations.gate.performing.queued import hand_over
from poppy_operations.lifecycle import queueing
from poppy_operations.maintenance.batches import in_batches
from poppy_operations.models import Operation
from poppy_operations.models.databases import write_alias
from poppy_operations.models.instants import instant
from poppy_operations.sessions.agents import revoked_client_ids

logger = logging.getLogger("poppy_operations")

AGAIN_AFTER = timedelta(minutes=5)


def requeue(*, now: datetime | None = None, dry_run: bool = False) -> int:
    """Enqueue again the attempts that were enqueued five minutes ago and that no worker started.

    The message may have been lost, or its process died between the claim and the queue. A second
    message of the same attempt finds it started, and does nothing. However often this runs, and
    two at once, an attempt gets one message in five minutes. Those of revoked agents get none. A
    queue that takes nothing is logged, and tried again later. With ``dry_run`` they are only
    counted. Raises ``Busy`` if the database is locked, unreachable or read-only.
    """
    moment = instant(now)
    waiting = (
        Operation.objects.using(write_alias())
        .filter(
            state=Operation.State.PERFORMING,
            started_at=None,
            lease_until__gte=moment,
            enqueued_at__lte=moment - AGAIN_AFTER,
        )
        .exclude(client_id__in=revoked_client_ids())
    )
    if dry_run:
        return waiting.count()
    number = 0
    for operation in in_batches(waiting):
        if not queueing.enqueue_again(operation, moment):
            continue
        try:
            hand_over(operation.operation_id, operation.attempt)
        except Exception:
            logger.exception("The queue takes no attempts; %d were enqueued again.", number)
            break
        number += 1
    return number
