"""What the gate reads to decide, always where we write."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db.models import BooleanField, Case, Exists, OuterRef, Q, Value, When

from poppy_operations.models import Approval, Decline, Operation, Revision
from poppy_operations.models.databases import write_alias
from poppy_operations.protocol.owner import Owner

LIVE = (Operation.State.OPEN, Operation.State.PERFORMING)


def seconds(now: datetime) -> datetime:
    """The whole second that decides: a revision is valid while ``int(now) <= expires_at``."""
    return now.replace(microsecond=0)


def is_expired(revision: Revision, now: datetime) -> bool:
    """Whether an approval of the revision comes too late (AMB-16)."""
    return revision.expires_at < seconds(now)


def named_revision(operation_id: str, revision: str, approver: str) -> Revision | None:
    """The revision that an approval names, or another one of the operation that it names.

    ``None`` where there is no such operation. One row tells everything about checks 1 and 2, the
    answer to give again, and whether this very approval was declined before.
    """
    is_named = Case(
        When(revision=revision, then=Value(True)),  # noqa: FBT003  Django's own signature
        default=Value(False),  # noqa: FBT003  as above
        output_field=BooleanField(),
    )
    found = (
        Revision.objects.using(write_alias())
        .select_related("operation", "operation__performance__revision", "record")
        .filter(operation__operation_id=operation_id)
        .annotate(is_named=is_named, was_declined=_was_declined(approver))
        .order_by("-is_named")
        .first()
    )
    # Compared again: a case-insensitive collation finds other spellings.
    return found if found is not None and found.operation.operation_id == operation_id else None


def revision_of_ref(ref: str, approver: str = "") -> Revision | None:
    """The revision of a website's reference, with its operation, record and declines."""
    found = (
        Revision.objects.using(write_alias())
        .select_related("operation", "record")
        .annotate(was_declined=_was_declined(approver), record_declined=_record_declined())
        .filter(ref=ref)
        .first()
    )
    return found if found is not None and found.ref == ref else None


def revision_of_watch(watch: str) -> Revision | None:
    """The revision that a waiting page watches."""
    return (
        Revision.objects.using(write_alias())
        .select_related("operation", "record")
        .annotate(record_declined=_record_declined())
        .filter(watch=watch)
        .first()
    )


def revision_of_operation(operation: Operation, revision: str, approver: str) -> Revision | None:
    """Another revision of the same operation, with its record and declines."""
    found = (
        Revision.objects.using(write_alias())
        .select_related("record")
        .annotate(was_declined=_was_declined(approver), record_declined=_record_declined())
        .filter(operation=operation, revision=revision)
        .first()
    )
    if found is None or found.revision != revision:
        return None
    found.operation = operation
    return found


def _was_declined(approver: str) -> Exists:
    return Exists(Decline.objects.filter(revision=OuterRef("pk"), approver=approver))


def _record_declined() -> Exists:
    return Exists(
        Decline.objects.filter(revision=OuterRef("pk"), approver=OuterRef("record__approver"))
    )


def live_revisions(owner: Owner, now: datetime, slot: str | None = None) -> Sequence[Revision]:
    """Every live revision of an owner, in the order in which approvals were recorded for them.

    Those that can still be approved, those of operations that are being performed and, where it is
    named, those in a slot. One query serves the match, the slot and the cap.
    """
    wanted = Q(expires_at__gte=seconds(now)) | Q(operation__state=Operation.State.PERFORMING)
    if slot is not None:
        wanted |= Q(operation__slot=slot)
    return list(
        Revision.objects.using(write_alias())
        .select_related("operation", "record")
        .filter(wanted, operation__owner_digest=owner.digest, operation__state__in=LIVE)
        .annotate(record_declined=_record_declined())
        .order_by("record__received_at", "pk")
    )


def record_of(revision: Revision) -> Approval | None:
    """The approval that was recorded for the revision, whatever became of it."""
    record: Approval | None = getattr(revision, "record", None)
    return record


def has_record(revision: Revision) -> bool:
    """Whether an approval waits for a request: recorded, not voided and not declined."""
    record = record_of(revision)
    if record is None or record.voided_at is not None:
        return False
    return not revision.record_declined  # type: ignore[attr-defined]  # an annotation, as above


def is_in_use(revision: Revision) -> bool:
    """Whether the revision's record is the one that the current attempt performs."""
    record = record_of(revision)
    operation = revision.operation
    return (
        record is not None
        and operation.state == Operation.State.PERFORMING
        and operation.approval_id == record.pk
    )


def is_returnable(revision: Revision, now: datetime) -> bool:
    """Whether the revision can be returned, or returned again."""
    return revision.retired_at is None and not is_expired(revision, now)


def serves_again(revision: Revision, now: datetime) -> bool:
    """Whether an ask can get a revision that is there: half its lifetime is left to approve it."""
    half = timedelta(seconds=revision.lifetime_s) / 2
    return is_returnable(revision, now) and revision.expires_at - seconds(now) >= half
