"""What the gate reads to decide, always from the database that we write to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db.models import BooleanField, Case, Exists, F, OuterRef, Q, Subquery, Value, When
from django.db.models.functions import Substr

from poppy_operations.models import Approval, Decline, Operation, Revision
from poppy_operations.models.databases import write_alias
from poppy_operations.protocol.owner import Owner

# Longer summaries are read when they are needed.
BRIEF = 1000
LIVE = (Operation.State.OPEN, Operation.State.PERFORMING)


def seconds(now: datetime) -> datetime:
    """The whole second that decides: a revision is valid while ``int(now) <= expires_at``."""
    return now.replace(microsecond=0)


def is_expired(revision: Revision, now: datetime) -> bool:
    """Whether an approval of the revision comes too late (AMB-16)."""
    return bool(revision.expires_at < seconds(now))


def unexpired(now: datetime, of: str = "") -> Q:
    """``is_expired`` denied, as the database sees it; ``of`` leads to the revision of a row."""
    return Q(**{f"{of}expires_at__gte": seconds(now)})


def named_revision(operation_id: str, revision: str, approver: str) -> Revision | None:
    """The revision that an approval names, or another one of the operation that it names.

    ``None`` if there is no such operation. One row holds all that checks 1 and 2 need, the answer
    to give again, and whether this very approval was declined before.
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
    found = (
        Revision.objects.using(write_alias())
        .select_related("operation", "record")
        .annotate(record_declined=_record_declined())
        .filter(watch=watch)
        .first()
    )
    return found if found is not None and found.watch == watch else None


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


def _was_declined(approver: str | OuterRef, revision: str = "pk") -> Exists:
    return Exists(Decline.objects.filter(revision=OuterRef(revision), approver=approver))


def _record_declined() -> Exists:
    return _was_declined(OuterRef("record__approver"))


def live_revisions(owner: Owner, now: datetime, slots: Sequence[str] = ()) -> Sequence[Revision]:
    """Every live revision of an owner, in the order in which approvals were recorded for them.

    These are all revisions that can still be approved; the newest revision of each operation that
    is being performed or is in one of the ``slots``; and the revision that is being performed. One
    query serves the match, the slot and the cap. Long texts are read only if they are needed.
    """
    newest = Revision.objects.filter(operation=OuterRef("operation")).order_by("-number")
    is_newest = Q(number=Subquery(newest.values("number")[:1]))
    is_in_use = Q(record=F("operation__approval"))
    wanted = (
        Q(unexpired(now), retired_at=None)
        | Q(Q(operation__state=Operation.State.PERFORMING), is_newest | is_in_use)
        | Q(Q(operation__slot__in=slots), is_newest)
    )
    rows = (
        Revision.objects.using(write_alias())
        .select_related("operation", "record")
        .defer("terms", "summary", "content_fields")
        .filter(wanted, operation__owner_digest=owner.digest, operation__state__in=LIVE)
        .annotate(record_declined=_record_declined(), brief=Substr("summary", 1, BRIEF + 1))
        .order_by("record__received_at", "pk")
    )
    return [_with_summary(row) for row in rows]


def _with_summary(revision: Revision) -> Revision:
    brief: str | None = revision.brief  # type: ignore[attr-defined]  # an annotation, as above
    if brief is None or len(brief) <= BRIEF:
        revision.summary = brief
    return revision


def read_what_is_told(revision: Revision) -> None:
    """Read the terms and the summary of a live revision, if it was listed without."""
    if is_told_in_part(revision):
        read_in_full(revision)


def is_told_in_part(revision: Revision) -> bool:
    """Whether a live revision was listed without its terms or its summary."""
    return not revision.get_deferred_fields().isdisjoint({"terms", "summary"})


def read_in_full(revision: Revision) -> None:
    """Read what a live revision was listed without, not from a replica, which may lag behind."""
    deferred = revision.get_deferred_fields()
    if deferred:
        revision.refresh_from_db(using=write_alias(), fields=deferred)


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


def is_usable(revision: Revision, now: datetime) -> bool:
    """Whether the approval that was recorded for the revision can still be used."""
    return has_record(revision) and is_returnable(revision, now)


def usable(now: datetime) -> Q:
    """The approvals that can still be used, were their operations open, as the database sees it.

    The recorded ones are those of ``is_usable``. The others are what an attempt has left, which
    the agent may send again: ``approvals.is_named`` and ``declined_before`` judge them then.
    """
    declined = _was_declined(OuterRef("approver"), revision="revision")
    return Q(unexpired(now, "revision__"), ~declined, voided_at=None, revision__retired_at=None)


def is_in_use(revision: Revision) -> bool:
    """Whether the current attempt performs the approval that was recorded for the revision."""
    record = record_of(revision)
    operation = revision.operation
    return (
        record is not None
        and operation.state == Operation.State.PERFORMING
        and operation.approval_id == record.pk
    )


def is_returnable(revision: Revision, now: datetime) -> bool:
    """Whether the revision can be returned, and approved: it is neither retired nor expired."""
    return revision.retired_at is None and not is_expired(revision, now)


def serves_again(revision: Revision, now: datetime) -> bool:
    """Whether an ask can get this revision again: half its lifetime is left, or more."""
    half = timedelta(seconds=revision.lifetime_s) / 2
    return is_returnable(revision, now) and revision.expires_at - seconds(now) >= half
