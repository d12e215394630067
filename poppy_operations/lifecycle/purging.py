"""Forgetting what need not be remembered any more (7, AMB-08)."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, QuerySet

from poppy_operations.lifecycle.durable import durably, using
from poppy_operations.models import Operation, Revision
from poppy_operations.protocol.ids import new_attempt

# An ask that just read a slot, a claim at the very edge and a late end find their rows still here.
MARGIN = timedelta(days=1)


def forgettable(now: datetime) -> QuerySet[Operation]:
    """Operations that are not being performed and whose revisions all expired a day ago."""
    # Of what is younger no revision need be looked for: none expires before it was returned.
    remembered = Revision.objects.filter(operation=OuterRef("pk"), expires_at__gte=now - MARGIN)
    return (
        Operation.objects.using(using())
        .exclude(state=Operation.State.PERFORMING)
        .filter(~Exists(remembered), created_at__lt=now - MARGIN)
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
        rows = Operation.objects.using(using()).filter(pk__in=found, attempt=doomed)
        _, deleted = rows.delete()
        return deleted.get("poppy_operations.Operation", 0)

    return durably(write)
