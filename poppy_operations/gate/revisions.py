"""What the gate reads to decide, always from the database that we write to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Substr

from poppy_operations.models import Approval, Decline, Operation, Revision
from poppy_operations.models.databases import write_alias
from poppy_operations.models.statements import Columns, Given, Reading, given, link
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
    return _unexpired_at(seconds(now), of)


def _unexpired_at(second: datetime | Given, of: str = "") -> Q:
    return Q(**{f"{of}expires_at__gte": second})


def _was_declined(approver: str | OuterRef | Given, revision: str = "pk") -> Exists:
    return Exists(Decline.objects.filter(revision=OuterRef(revision), approver=approver))


def this_was_declined(revision: str = "pk") -> Exists:
    """Whether an approval by the approver that is given was declined."""
    return _was_declined(given(Decline, "approver"), revision)


def _record_declined() -> Exists:
    return _was_declined(OuterRef("record__approver"))


_OPERATION = Columns(Operation, "operation__")
_RECORD = Columns(Approval, "record__")


def with_rows(
    revision: Revision, operation: Operation, record: Approval | None, **annotations: object
) -> Revision:
    """A revision that knows what was read with it."""
    link(revision, "operation", operation)
    link(revision, "record", record)
    if record is not None:
        link(record, "recorded_for", revision)
    vars(revision).update(annotations)
    return revision


def revision_of_ref(ref: str, approver: str = "") -> Revision | None:
    """The revision of a website's reference, with its operation, record and declines."""
    row = _OF_REF.exact("ref", ref=ref, approver=approver)
    if row is None:
        return None
    found, operation, record, was, record_was = row
    return with_rows(found, operation, record, was_declined=was, record_declined=record_was)


def _of_ref() -> QuerySet[Revision]:
    return Revision.objects.filter(ref=given(Revision, "ref")).annotate(
        was_declined=this_was_declined(), record_declined=_record_declined()
    )


_OF_REF = Reading(
    _of_ref, Columns(Revision), _OPERATION, _RECORD, "was_declined", "record_declined"
)


def revision_of_watch(watch: str) -> Revision | None:
    """The revision that a waiting page watches."""
    row = _OF_WATCH.exact("watch", watch=watch)
    if row is None:
        return None
    found, operation, record, record_declined = row
    return with_rows(found, operation, record, record_declined=record_declined)


def _of_watch() -> QuerySet[Revision]:
    return Revision.objects.filter(watch=given(Revision, "watch")).annotate(
        record_declined=_record_declined()
    )


_OF_WATCH = Reading(_of_watch, Columns(Revision), _OPERATION, _RECORD, "record_declined")


def revision_of_operation(operation: Operation, revision: str, approver: str) -> Revision | None:
    """Another revision of the same operation, with its record and declines."""
    row = _OF_OPERATION.exact(
        "revision", operation=operation.pk, revision=revision, approver=approver
    )
    if row is None:
        return None
    found, record, was, record_was = row
    return with_rows(found, operation, record, was_declined=was, record_declined=record_was)


def _of_operation() -> QuerySet[Revision]:
    return Revision.objects.filter(
        operation=given(Revision, "operation"), revision=given(Revision, "revision")
    ).annotate(was_declined=this_was_declined(), record_declined=_record_declined())


_OF_OPERATION = Reading(
    _of_operation, Columns(Revision), _RECORD, "was_declined", "record_declined"
)


def live_revisions(owner: Owner, now: datetime, slots: Sequence[str] = ()) -> Sequence[Revision]:
    """Every live revision of an owner, in the order in which approvals were recorded for them.

    These are all revisions that can still be approved; the newest revision of each operation that
    is being performed or is in one of the ``slots``; and the revision that is being performed. One
    query serves the match, the slot and the cap. Long texts are read only if they are needed.
    """
    named = {f"slot_{number}": slot for number, slot in enumerate(slots)}
    rows = _LIVE.rows(len(slots), owner_digest=owner.digest, now=seconds(now), **named)
    return [
        _with_summary(with_rows(found, operation, record, record_declined=record_declined), brief)
        for found, operation, record, record_declined, brief in rows
    ]


def has_live(owner: Owner) -> bool:
    """Whether an owner has an operation that may have live revisions, which costs little to ask."""
    return bool(_ANY_LIVE.rows(owner_digest=owner.digest))


_ANY_LIVE = Reading(
    lambda: Operation.objects.filter(owner_digest=given(Operation, "owner_digest"), state__in=LIVE)[
        :1
    ],
    "id",
)


def _live(slots: int) -> QuerySet[Revision]:
    newest = Revision.objects.filter(operation=OuterRef("operation")).order_by("-number")
    is_newest = Q(number=Subquery(newest.values("number")[:1]))
    is_performing = Q(operation__state=Operation.State.PERFORMING)
    is_in_slot = Q(
        operation__slot__in=[given(Operation, "slot", f"slot_{number}") for number in range(slots)]
    )
    wanted = (
        Q(_unexpired_at(given(Revision, "expires_at", "now")), retired_at=None)
        | Q(is_performing, record=F("operation__approval"))
        | Q(is_performing | is_in_slot, is_newest)
    )
    owners = given(Operation, "owner_digest")
    return (
        Revision.objects.filter(wanted, operation__owner_digest=owners, operation__state__in=LIVE)
        .annotate(record_declined=_record_declined(), brief=Substr("summary", 1, BRIEF + 1))
        .order_by("record__received_at", "pk")
    )


_LIVE = Reading(
    _live,
    Columns(Revision, without=("terms", "summary", "content_fields")),
    _OPERATION,
    _RECORD,
    "record_declined",
    "brief",
)


def _with_summary(revision: Revision, brief: str | None) -> Revision:
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
