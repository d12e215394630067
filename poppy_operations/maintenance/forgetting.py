"""Forgetting operations and joins that need not be remembered any more (7)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import partial

from poppy_operations.browser.joins import purge_joins
from poppy_operations.lifecycle import purging
from poppy_operations.lifecycle.durable import Busy, busy_if_unusable, durably
from poppy_operations.maintenance.batches import BATCH
from poppy_operations.maintenance.results import Interrupted, Purged
from poppy_operations.models.instants import instant


def purge(*, now: datetime | None = None, dry_run: bool = False, batch: int = BATCH) -> Purged:
    """Forget operations a day after they ended and all revisions expired, in small batches.

    An operation stays if it is performing, if its outcome is unknown, or if an unexpired approval
    could still name it. Browser joins are forgotten a day after their end. With ``dry_run`` nothing
    is deleted. Raises ``Interrupted``, a ``Busy`` that says what was forgotten before.
    """
    moment = instant(now)
    over = partial(purge_joins, moment - purging.MARGIN)
    done = Purged(0, 0)
    try:
        if dry_run:
            with busy_if_unusable():
                return Purged(purging.forgettable(moment).count(), over(dry_run=True))
        while joins := durably(partial(over, batch=batch)):
            done = replace(done, joins=done.joins + joins)
        progress = purging.Progress()
        while not progress.is_over:
            operations = purging.forget(moment, batch, progress)
            done = replace(done, operations=done.operations + operations)
    except Busy as error:
        raise Interrupted(done) from error
    return done
