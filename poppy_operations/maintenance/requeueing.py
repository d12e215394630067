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
    """Enqueue attempts again that no worker has started five minutes after they were enqueued.

    The message may have been lost, or a process died between the claim and the queue. If a second
    message finds the attempt started, it does nothing. An attempt gets one message in five minutes,
    however often this runs, and even if it runs twice at once. Attempts of revoked agents get none.
    If the queue takes nothing, that is logged, and the next run tries again. With ``dry_run`` the
    attempts are only counted. Returns their number. Raises ``Busy`` if the database is locked,
    unreachable or read-only.
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
