"""Filters that answer what operators ask: what needs me, what waits, whose is it, how it ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from poppy_operations.declarations.registry import registry
from poppy_operations.gate.revisions import usable
from poppy_operations.lifecycle.claims import is_lapsed, lapsed
from poppy_operations.lifecycle.settling import can_settle, settleable
from poppy_operations.models import (
    Agent,
    Approval,
    Decline,
    Operation,
    Performance,
    Settlement,
    instants,
)
from poppy_operations.models.databases import write_alias

PERFORMING = Operation.State.PERFORMING
STANDINGS = {
    "open": _("open"),
    "performing": _("performing"),
    "lapsed": _("lease over"),
    "unknown": _("outcome unknown"),
    "performed": _("performed"),
}


def standing(operation: Operation, now: datetime) -> str:
    """Give an operation's standing: ``unknown`` as soon as somebody can settle it.

    ``lapsed`` only if the next request frees the operation.
    """
    if operation.state != PERFORMING:
        return operation.state
    if can_settle(operation, now):
        return "unknown"
    return "lapsed" if is_lapsed(operation, now) else "performing"


def in_standing(name: str, now: datetime) -> Q:
    """Find the operations of a standing, beginning with the state, which has an index."""
    if name in {"open", "performed"}:
        return Q(state=name)
    over = {"unknown": settleable(now), "lapsed": lapsed(now)}
    return over.get(name) or Q(state=PERFORMING) & ~over["unknown"] & ~over["lapsed"]


class ChoiceFilter(admin.SimpleListFilter):
    """A filter that knows its values beforehand, so that no table is read for them."""

    def chosen(self) -> str | None:
        """Give the chosen value. Raises ``IncorrectLookupParameters`` for any other."""
        value = self.value()
        if value is not None and value not in dict(self.lookup_choices):
            raise IncorrectLookupParameters
        return value


class StandingFilter(ChoiceFilter):
    """The standing of operations; somebody has to settle those of unknown outcome."""

    title = _("standing")
    parameter_name = "standing"

    def lookups(
        self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]
    ) -> Iterable[tuple[str, Any]]:
        """Name the standings."""
        return STANDINGS.items()

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Operation]
    ) -> QuerySet[Operation] | None:
        """Find the operations of the chosen standing."""
        name = self.chosen()
        return None if name is None else queryset.filter(in_standing(name, instants.now()))


def _of_it(model: Any, *which: Q, **conditions: Any) -> Exists:
    return Exists(model.objects.filter(*which, operation=OuterRef("pk"), **conditions))


def _waiting(now: datetime) -> Q:
    """Approved, and nothing has come of it yet."""
    return Q(_of_it(Approval, usable(now)), state=Operation.State.OPEN)


HAPPENINGS: dict[str, tuple[Any, Callable[[datetime], Q | Exists]]] = {
    "waiting": (_("approved, and not performed yet"), _waiting),
    "revised": (_("its terms were revised"), lambda _now: Q(revision_count__gt=1)),
    "declined": (_("an approval was declined"), lambda _now: _of_it(Decline)),
    "by_agent": (
        _("performed, approved by the agent itself"),
        lambda _now: _of_it(Performance, approval__approver="agent"),
    ),
    "late": (
        _("performed after it had been given up"),
        lambda _now: _of_it(Performance, how=Performance.How.LATE),
    ),
    "settled": (_("reconciled, or settled by a person"), lambda _now: _of_it(Settlement)),
    "voided": (
        _("an approval was voided"),
        lambda _now: _of_it(Approval, voided_at__isnull=False),
    ),
}


class HappeningFilter(ChoiceFilter):
    """What happened to an operation."""

    title = _("what happened")
    parameter_name = "happened"

    def lookups(
        self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]
    ) -> Iterable[tuple[str, Any]]:
        """Name the happenings."""
        return [(name, label) for name, (label, _condition) in HAPPENINGS.items()]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Operation]
    ) -> QuerySet[Operation] | None:
        """Find the operations that it happened to."""
        name = self.chosen()
        return None if name is None else queryset.filter(HAPPENINGS[name][1](instants.now()))


class ActionFilter(ChoiceFilter):
    """The actions that the site declares."""

    title = _("action")
    parameter_name = "of_action"

    def lookups(
        self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]
    ) -> Iterable[tuple[str, str]]:
        """Name the actions."""
        return [(name, name) for name in sorted(action.name for action in registry)]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Operation]
    ) -> QuerySet[Operation] | None:
        """Find the operations of the chosen action."""
        name = self.chosen()
        return None if name is None else queryset.filter(action=name)


class AgentFilter(ChoiceFilter):
    """The Personal Agents on the allow-list, revoked ones included."""

    title = _("Personal Agent")
    parameter_name = "agent"

    def lookups(
        self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]
    ) -> Iterable[tuple[str, str]]:
        """Name the agents. One query; there are few."""
        agents = Agent.objects.using(write_alias()).only("client_id", "name").order_by("client_id")
        return [(agent.client_id, str(agent)) for agent in agents]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Operation]
    ) -> QuerySet[Operation] | None:
        """Find the operations that the chosen agent was given."""
        client_id = self.chosen()
        return None if client_id is None else queryset.filter(client_id=client_id)
