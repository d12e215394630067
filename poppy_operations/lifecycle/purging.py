"""Forgetting what need not be remembered any more (7, AMB-08)."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, QuerySet

from poppy_operations.lifecycle.durable import durably
from poppy_operations.models import Operation, Performance, Revision, Settlement
from poppy_operations.models.databases import write_alias
from poppy_operations.protocol.ids import new_attempt

# An ask that just read a slot and a claim at the very edge find their rows still here, and an agent
# that was told for long that its action is being performed has the time to learn how it ended.
MARGIN = timedelta(days=1)


def forgettable(now: datetime) -> QuerySet[Operation]:
    """Operations not being performed that ended, and whose revisions all expired, a day ago."""
    since, of_it = now - MARGIN, {"operation": OuterRef("pk")}
    live = Revision.objects.filter(**of_it, expires_at__gte=since)
    performed = Performance.objects.filter(**of_it, finished_at__gte=since)
    settled = Settlement.objects.filter(**of_it, settled_at__gte=since)
    # Of what is younger nothing need be looked for: nothing expires or ends before its beginning.
    return (
        Operation.objects.using(write_alias())
        .exclude(state=Operation.State.PERFORMING)
        .filter(~Exists(live), ~Exists(performed), ~Exists(settled), created_at__lt=since)
    )


def forget(now: datetime, most: int) -> int:
    """Delete up to ``most`` of them with all that belongs to them, in one commit.

    What is returned again or performed in the meantime stays. Raises ``Busy``.
    """
    held, doomed = new_attempt(), new_attempt()

    def write() -> int:
        found = list(forgettable(now).order_by("pk").values_list("pk", flat=True)[:most])
        # Whoever was about to change one of them comes before this statement or never. Having
        # waited, PostgreSQL looks at the row again, but not at its revisions: so ask once more.
        forgettable(now).filter(pk__in=found).update(attempt=held)
        forgettable(now).filter(pk__in=found, attempt=held).update(attempt=doomed)
        rows = Operation.objects.using(write_alias()).filter(pk__in=found, attempt=doomed)
        _, deleted = rows.delete()
        return deleted.get("poppy_operations.Operation", 0)

    return durably(write)
