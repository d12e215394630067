"""Reading many operations in batches."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.db.models import QuerySet

from poppy_operations.lifecycle import claims
from poppy_operations.lifecycle.settling import ended_or_over
from poppy_operations.models import Operation
from poppy_operations.models.databases import write_alias

BATCH = 500


def attempts_over(now: datetime) -> QuerySet[Operation]:
    """Attempts that ended as unknown, whose lease is over, or that lapsed in another way."""
    attempts = Operation.objects.using(write_alias()).filter(state=Operation.State.PERFORMING)
    return attempts.filter(ended_or_over(now) | claims.lapsed(now))


def in_batches(found: QuerySet[Operation]) -> Iterator[Operation]:
    """Read in batches by key: a cursor would keep a connection that a pool lends to others."""
    last = 0
    while batch := list(found.filter(pk__gt=last).order_by("pk")[:BATCH]):
        yield from batch
        last = batch[-1].pk
