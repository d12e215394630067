"""Forgetting operations that need not be remembered any more (7, AMB-08)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from operator import or_

from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.db.models.signals import post_delete, pre_delete

from poppy_operations.lifecycle.durable import busy_if_unusable, durably
from poppy_operations.models import (
    Approval,
    Decline,
    Operation,
    Performance,
    Revision,
    Settlement,
)
from poppy_operations.models.databases import write_alias
from poppy_operations.models.statements import options
from poppy_operations.protocol.ids import new_attempt

# An ask that just read a slot, and a claim at the last moment, still find their rows. An agent that
# was told for long that its action is being performed has the time to learn how it ended.
MARGIN = timedelta(days=1)
# In this order nothing ever points to what is gone.
_OF_OPERATIONS: tuple[type[Model], ...] = (Settlement, Performance, Decline, Approval, Revision)


@dataclass
class Progress:
    """How far a purge has come: up to which key it has looked, and whether that was all."""

    last: int = 0
    is_over: bool = False


def forgettable(now: datetime) -> QuerySet[Operation]:
    """Operations of which nothing is being performed, and nothing ended or expired for a day."""
    return _old_enough(now).filter(*(~one for one in _remembered(now)))


def _old_enough(now: datetime) -> QuerySet[Operation]:
    """Younger operations need not be looked at: nothing expires or ends before it begins."""
    rows = Operation.objects.using(write_alias()).filter(created_at__lt=now - MARGIN)
    return rows.exclude(state=Operation.State.PERFORMING)


def _remembered(now: datetime) -> list[Exists]:
    """What each keeps an operation from being forgotten."""
    since, of_it = now - MARGIN, {"operation": OuterRef("pk")}
    return [
        Exists(Revision.objects.filter(**of_it, expires_at__gte=since)),
        Exists(Performance.objects.filter(**of_it, finished_at__gte=since)),
        Exists(Settlement.objects.filter(**of_it, settled_at__gte=since)),
    ]


def forget(now: datetime, most: int, progress: Progress | None = None) -> int:
    """Look at the next ``most`` operations; delete those to forget, with all that belongs to them.

    This is one commit. If an operation is returned again or performed in the meantime, it stays.
    Raises ``Busy`` if the database is locked, unreachable or read-only.
    """
    progress = progress or Progress()
    old = _old_enough(now).filter(pk__gt=progress.last).order_by("pk")
    with busy_if_unusable():
        keys = list(old.values_list("pk", flat=True)[:most])
    if not keys:
        progress.is_over = True
        return 0
    after, last, doomed = progress.last, keys[-1], new_attempt()

    def write() -> int:
        # Another change of these rows takes effect before this statement, or not at all. After
        # waiting for it, PostgreSQL looks at the row again, but not at its revisions: so ask twice.
        these = Q(pk__gt=after, pk__lte=last)
        forgettable(now).filter(these).update(attempt=doomed)
        held = Operation.objects.using(write_alias()).filter(these, attempt=doomed)
        held.filter(reduce(or_, _remembered(now))).update(attempt=new_attempt())
        return _delete(after, last, doomed)

    forgotten = durably(write)
    progress.last = last
    return forgotten


def _delete(after: int, last: int, attempt: str) -> int:
    """Delete operations and all that is theirs: one statement for each table."""
    rows = Operation.objects.using(write_alias()).filter(
        pk__gt=after, pk__lte=last, attempt=attempt
    )
    if _others_want_to_know():
        _, deleted = rows.delete()
        return deleted.get("poppy_operations.Operation", 0)
    of_rows = {"operation__pk__gt": after, "operation__pk__lte": last}
    for model in _OF_OPERATIONS:
        _delete_at_once(QuerySet(model).filter(**of_rows, operation__attempt=attempt))
    return _delete_at_once(rows)


def _delete_at_once(rows: QuerySet[Model]) -> int:
    # Without looking first, as delete() does.
    return rows._raw_delete(write_alias())  # noqa: SLF001  nothing public does it


def _others_want_to_know() -> bool:
    """Whether the site has rows that belong to ours, or receivers that are told of deletions."""
    models: set[type[Model]] = {*_OF_OPERATIONS, Operation}
    fields = [field for model in models for field in options(model).get_fields(include_hidden=True)]
    theirs = {field.related_model for field in fields if field.auto_created and field.is_relation}
    told = (pre_delete.has_listeners(model) or post_delete.has_listeners(model) for model in models)
    return not theirs <= models or any(told)
