"""Forgetting operations that need not be remembered any more (7, AMB-08)."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, QuerySet

from poppy_operations.lifecycle.durable import durably
from poppy_operations.models import Operation, Performance, Revision, Settlement
from poppy_operations.models.databases import write_alias
from poppy_operations.protocol.ids import new_attempt

# An ask that just read a slot, and a claim at the last moment, still find their rows. An agent that
# was told for long that its action is being performed has the time to learn how it ended.
MARGIN = timedelta(days=1)


def forgettable(now: datetime) -> QuerySet[Operation]:
    """Operations of which nothing is being performed, and nothing ended or expired for a day."""
    since, of_it = now - MARGIN, {"operation": OuterRef("pk")}
    live = Revision.objects.filter(**of_it, expires_at__gte=since)
    performed = Performance.objects.filter(**of_it, finished_at__gte=since)
    settled = Settlement.objects.filter(**of_it, settled_at__gte=since)
    # Younger operations need not be looked at: nothing expires or ends before it begins.
    return (
        Operation.objects.using(write_alias())
        .exclude(state=Operation.State.PERFORMING)
        .filter(~Exists(live), ~Exists(performed), ~Exists(settled), created_at__lt=since)
    )


def forget(now: datetime, most: int) -> int:
    """Delete up to ``most`` such operations with all that belongs to them, in one commit.

    If an operation is returned again or performed in the meantime, it stays. Raises ``Busy`` if the
    database is locked, unreachable or read-only.
    """
    held, doomed = new_attempt(), new_attempt()

    def write() -> int:
        found = list(forgettable(now).order_by("pk").values_list("pk", flat=True)[:most])
        # Another change of these rows takes effect before this statement, or not at all. After
        # waiting for it, PostgreSQL looks at the row again, but not at its revisions: so ask twice.
        forgettable(now).filter(pk__in=found).update(attempt=held)
        forgettable(now).filter(pk__in=found, attempt=held).update(attempt=doomed)
        rows = Operation.objects.using(write_alias()).filter(pk__in=found, attempt=doomed)
        _, deleted = rows.delete()
        return deleted.get("poppy_operations.Operation", 0)

    return durably(write)
