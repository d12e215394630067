"""The history of an operation: asked, revised, approved, declined, performed, in order of time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, Model, Q, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from poppy_operations.admin.differences import Difference, differences, differing_names
from poppy_operations.admin.reading import pretty
from poppy_operations.models import (
    Approval,
    Decline,
    Operation,
    Performance,
    Revision,
    Settlement,
)
from poppy_operations.models.databases import write_alias
from poppy_operations.protocol.interfaces import interface_called
from poppy_operations.protocol.times import rfc3339

# The newest of each kind. An agent can have terms revised for as long as it likes.
MOST = 100
Facts = tuple[tuple[str | Promise, object], ...]


@dataclass(frozen=True)
class Event:
    """One line of a history. ``stated`` is the agent's word, which nothing here can verify.

    ``tone`` is how the line looks: ``plain``, ``good``, ``bad`` or ``loud``. ``changes`` are the
    terms' differences from the revision before, ``None`` if there is none to compare.
    """

    at: datetime
    what: str | Promise
    row: Model
    facts: Facts = ()
    stated: Facts = ()
    tone: str = "plain"
    terms: str | None = None
    changes: Sequence[Difference] | None = None
    fields: Sequence[str] = ()

    @property
    def url_name(self) -> str:
        """The name of the admin's page for the row."""
        return f"admin:poppy_operations_{type(self.row).__name__.lower()}_change"


@dataclass(frozen=True)
class History:
    """The events that a person may see, the kinds that are hidden, and whether some are cut off."""

    events: list[Event]
    hidden: list[str | Promise]
    is_cut: bool

    @property
    def is_loud(self) -> bool:
        """Whether something happened that an operator has to see."""
        return any(event.tone == "loud" for event in self.events)


def history_of(operation: Operation, user: Any) -> History:
    """Give the history as far as the user may view its rows. One query for each kind."""
    events: list[Event] = []
    hidden: list[str | Promise] = []
    is_cut = False
    for kind in EVENT_KINDS:
        if not user.has_perm(f"poppy_operations.view_{kind.name}"):
            hidden.append(kind.plural)
            continue
        rows = list(kind.rows.using(write_alias()).filter(operation=operation)[: MOST + 1])
        is_cut = is_cut or len(rows) > MOST
        rows.reverse()
        # The row before the oldest one that is shown only serves to compare.
        before = rows.pop(0) if len(rows) > MOST else None
        for row in rows:
            events.extend(kind.events(row, before))
            before = row
    events.extend(_attempt(operation))
    # Events of the same moment stay in the order of their kinds, and of their rows.
    events.sort(key=lambda event: event.at)
    return History(events, hidden, is_cut)


def moment(seconds: int | None) -> str | None:
    """Show Unix seconds that an agent stated, which may be any number."""
    if seconds is None:
        return None
    try:
        return rfc3339(seconds)
    except ValueError:
        return str(seconds)


@dataclass(frozen=True)
class EventKind:
    """How the rows of a model, newest first, become events, each with the row before it."""

    name: str
    plural: str | Promise
    rows: QuerySet[Any]
    events: Callable[[Any, Any], Iterable[Event]]


def _revision(row: Revision, before: Revision | None) -> Iterator[Event]:
    facts = (
        (_("revision"), row.revision),
        (_("summary"), row.summary),
        (_("can be approved until"), row.expires_at),
    )
    is_first = row.number == 1
    what = _("Asked: terms %(number)d") if is_first else _("Asked again: terms %(number)d")
    yield Event(
        row.returned_at,
        what % {"number": row.number},
        row,
        facts,
        terms=pretty(row.terms),
        changes=None if before is None else differences(before.terms, row.terms),
        fields=() if before is None else differing_names(before.content_fields, row.content_fields),
    )
    number = {"number": row.number}
    if row.looked_up_at not in {None, row.returned_at}:
        yield Event(row.looked_up_at, _("Terms %(number)d looked up by the agent") % number, row)
    if row.retired_at is not None:
        yield Event(row.retired_at, _("Terms %(number)d retired") % number, row)


def _approval(row: Approval, _before: Approval | None) -> Iterator[Event]:
    number = {"number": row.revision.number}
    facts = (
        (_("revision"), row.revision.revision),
        (_("Session ID"), row.sid),
        (_("reviewer"), row.person),
    )
    stated = (
        (_("approved by"), row.approver),
        (_("approved at"), moment(row.approved_at)),
        (_("input type"), row.input_type),
        (_("agent's reference"), row.reference),
    )
    what = _("Approval of terms %(number)d received") % number
    yield Event(row.received_at, what, row, facts, stated, tone="good")
    if row.voided_at is not None:
        voided = ((_("by"), row.voided_by), (_("because"), row.voided_because))
        what = _("Approval of terms %(number)d voided") % number
        yield Event(row.voided_at, what, row, voided, tone="bad")


def _decline(row: Decline, _before: Decline | None) -> Iterator[Event]:
    facts = (
        (_("revision"), row.revision.revision),
        (_("rule"), row.rule),
        (_("reason"), row.reason),
        (_("alternative"), pretty(row.alternative)),
        (_("Session ID"), row.sid),
    )
    stated = ((_("approved by"), row.approver),)
    what = _("Approval of terms %(number)d declined by the Company") % {
        "number": row.revision.number
    }
    yield Event(row.declined_at, what, row, facts, stated, tone="bad")


def _repeats_get(row: Performance) -> str | Promise | None:
    name: str | None = getattr(row, "interface", None)
    if name is not None and interface_called(name).repeat_is_new:
        return None
    # The answer itself may hold secrets; whether there is one is asked of the database.
    is_kept = getattr(row, "has_body", False)
    return _("this answer again") if is_kept else _("a short answer: this one's body is not kept")


def _performance(row: Performance, _before: Performance | None) -> Iterator[Event]:
    is_late = row.how == Performance.How.LATE
    facts = (
        (_("revision"), row.revision.revision),
        (_("how"), row.get_how_display()),
        (_("HTTP status"), row.status),
        (_("a repeat gets"), _repeats_get(row)),
    )
    what = _("Performed by an attempt that had been given up") if is_late else _("Performed")
    yield Event(row.finished_at, what, row, facts, tone="loud" if is_late else "good")


def _settlement(row: Settlement, _before: Settlement | None) -> Iterator[Event]:
    # It was loud while nobody knew the outcome; now somebody does.
    yield from _begun(row, row.started_at, row.unknown_since, tone="bad")
    facts = (
        (_("outcome"), row.get_outcome_display()),
        (_("by"), row.settled_by),
        (_("because"), row.because),
    )
    yield Event(row.settled_at, _("Outcome settled"), row, facts)


def _attempt(operation: Operation) -> Iterator[Event]:
    """What is known of the attempt that is under way."""
    if operation.state == Operation.State.PERFORMING:
        facts = ((_("lease until"), operation.lease_until),)
        unknown_since = operation.outcome_unknown_since
        yield from _begun(operation, operation.started_at, unknown_since, facts, tone="loud")


def _begun(
    row: Model,
    started_at: datetime | None,
    unknown_since: datetime | None,
    facts: Facts = (),
    *,
    tone: str,
) -> Iterator[Event]:
    if started_at is not None:
        yield Event(started_at, _("Attempt begun"), row, facts)
    if unknown_since is not None:
        yield Event(unknown_since, _("Nobody knows whether it took effect"), row, tone=tone)


EVENT_KINDS = (
    EventKind("revision", _("revisions"), Revision.objects.order_by("-pk"), _revision),
    EventKind(
        "approval",
        _("approvals"),
        # Their own key is random.
        Approval.objects.select_related("revision").order_by("-received_at"),
        _approval,
    ),
    EventKind(
        "decline",
        _("declines"),
        Decline.objects.select_related("revision").order_by("-pk"),
        _decline,
    ),
    EventKind(
        "performance",
        _("performances"),
        Performance.objects.select_related("revision")
        .defer("body", "headers")
        .annotate(has_body=Q(body__isnull=False), interface=F("operation__interface"))
        .order_by("-pk"),
        _performance,
    ),
    EventKind("settlement", _("settlements"), Settlement.objects.order_by("-pk"), _settlement),
)
