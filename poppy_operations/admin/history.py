"""The history of an operation: returned, approved or declined, performed, in order of time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Model, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from poppy_operations.admin.reading import pretty, using
from poppy_operations.models import (
    Approval,
    Decline,
    Operation,
    Performance,
    Revision,
    Settlement,
)
from poppy_operations.protocol.times import rfc3339

# Of each kind; the newest. An agent can have terms revised for as long as it likes.
MOST = 100


@dataclass(frozen=True)
class Event:
    """One line of a history. ``stated`` is the agent's word, which nothing here can verify."""

    at: datetime
    what: str | Promise
    row: Model
    facts: tuple[tuple[str | Promise, object], ...] = ()
    stated: tuple[tuple[str | Promise, object], ...] = ()
    terms: str | None = None

    @property
    def url_name(self) -> str:
        """The name of the admin's page for the row."""
        return f"admin:poppy_operations_{type(self.row).__name__.lower()}_change"


@dataclass(frozen=True)
class History:
    """The events that a person may see, the kinds that he or she may not, and what was cut."""

    events: list[Event]
    hidden: list[str | Promise]
    is_cut: bool


def history_of(operation: Operation, user: Any) -> History:
    """Give the history as far as the user may view its rows. One query for each kind."""
    events: list[Event] = []
    hidden: list[str | Promise] = []
    is_cut = False
    for kind in KINDS:
        if not user.has_perm(f"poppy_operations.view_{kind.name}"):
            hidden.append(kind.plural)
            continue
        rows = list(kind.rows.using(using()).filter(operation=operation)[: MOST + 1])
        is_cut = is_cut or len(rows) > MOST
        for row in reversed(rows[:MOST]):
            events.extend(kind.events(row))
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
class Kind:
    """How the rows of a model, newest first, become events."""

    name: str
    plural: str | Promise
    rows: QuerySet[Any]
    events: Callable[[Any], Iterable[Event]]


def _revision(row: Revision) -> Iterator[Event]:
    facts = (
        (_("revision"), row.revision),
        (_("summary"), row.summary),
        (_("can be approved until"), row.expires_at),
        (_("looked up at"), row.looked_up_at),
    )
    what = _("Terms returned, number %(number)d") % {"number": row.number}
    yield Event(row.returned_at, what, row, facts, terms=pretty(row.terms))
    if row.retired_at is not None:
        yield Event(
            row.retired_at, _("Terms retired, number %(number)d") % {"number": row.number}, row
        )


def _approval(row: Approval) -> Iterator[Event]:
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
    yield Event(row.received_at, _("Approval received"), row, facts, stated)
    if row.voided_at is not None:
        voided = ((_("by"), row.voided_by), (_("because"), row.voided_because))
        yield Event(row.voided_at, _("Approval voided"), row, voided)


def _decline(row: Decline) -> Iterator[Event]:
    facts = (
        (_("revision"), row.revision.revision),
        (_("rule"), row.rule),
        (_("reason"), row.reason),
        (_("alternative"), pretty(row.alternative)),
        (_("Session ID"), row.sid),
    )
    stated = ((_("approved by"), row.approver),)
    yield Event(row.declined_at, _("Approval declined by the Company"), row, facts, stated)


def _performance(row: Performance) -> Iterator[Event]:
    facts = (
        (_("revision"), row.revision.revision),
        (_("how"), row.get_how_display()),
        (_("HTTP status"), row.status),
    )
    yield Event(row.finished_at, _("Performed"), row, facts)


def _settlement(row: Settlement) -> Iterator[Event]:
    facts = (
        (_("outcome"), row.get_outcome_display()),
        (_("by"), row.settled_by),
        (_("because"), row.because),
    )
    yield Event(row.settled_at, _("Outcome settled"), row, facts)


KINDS = (
    Kind("revision", _("revisions"), Revision.objects.order_by("-pk"), _revision),
    Kind(
        "approval",
        _("approvals"),
        # Their own key is random.
        Approval.objects.select_related("revision").order_by("-received_at"),
        _approval,
    ),
    Kind(
        "decline",
        _("declines"),
        Decline.objects.select_related("revision").order_by("-pk"),
        _decline,
    ),
    Kind(
        "performance",
        _("performances"),
        Performance.objects.select_related("revision").order_by("-pk"),
        _performance,
    ),
    Kind("settlement", _("settlements"), Settlement.objects.order_by("-pk"), _settlement),
)
