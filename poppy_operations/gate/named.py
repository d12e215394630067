"""What an approval names, read in one row for checks 1 and 2 and for a replay."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import FilteredRelation, Q, QuerySet

from poppy_operations.gate.revisions import this_was_declined, with_rows
from poppy_operations.models import Operation, Performance, Revision
from poppy_operations.models.statements import Columns, Reading, given, link


@dataclass(frozen=True)
class Named:
    """What an approval names: an operation, and its revision, if it has the one that is named."""

    operation: Operation
    revision: Revision | None


def named_by(operation_id: str, revision: str, approver: str) -> Named | None:
    """What an approval names; ``None`` if there is no such operation.

    One row holds all that checks 1 and 2 need, the answer to give again, and whether this very
    approval was declined before.
    """
    row = _NAMED.exact(
        "operation_id", operation_id=operation_id, revision=revision, approver=approver
    )
    if row is None:
        return None
    operation, performance, found, was_declined = row
    link(operation, "performance", performance)
    if performance is not None:
        link(performance, "operation", operation)
    if found is not None:
        # Where approvals are sent with the request, none is ever recorded.
        with_rows(found, operation, None, was_declined=was_declined)
    return Named(operation, found)


def _named() -> QuerySet[Operation]:
    is_named = Q(revisions__revision=given(Revision, "revision"))
    return Operation.objects.annotate(
        named=FilteredRelation("revisions", condition=is_named),
        was_declined=this_was_declined("named__pk"),
    ).filter(operation_id=given(Operation, "operation_id"))


def performed_revision(named: Named) -> Revision:
    """The revision that was performed; one more query if it is not the one that is named."""
    performance = named.operation.performance
    performed = named.revision
    if performed is None or performed.pk != performance.revision_id:
        ((performed,),) = _PERFORMED.rows(id=performance.revision_id)
        link(performed, "operation", named.operation)
    link(performance, "revision", performed)
    return performed


# What neither the checks ask for nor the answer holds: each column costs a request some time.
OF_ASKS = (
    "number",
    "ref",
    "watch",
    "content_fields",
    "returned_at",
    "lifetime_s",
    "looked_up_at",
)
_NAMED = Reading(
    _named,
    Columns(Operation),
    Columns(Performance, "performance__", without=("how", "finished_at")),
    Columns(Revision, "named__", without=OF_ASKS),
    "was_declined",
)
_PERFORMED = Reading(lambda: Revision.objects.filter(id=given(Revision, "id")), Columns(Revision))
