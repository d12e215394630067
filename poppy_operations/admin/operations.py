"""Operations: where each one stands, and its history at a glance."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from poppy_operations.admin.history import history_of
from poppy_operations.admin.reading import ReadOnlyAdmin, using
from poppy_operations.declarations import registry
from poppy_operations.models import Agent, Operation

PERFORMING = Operation.State.PERFORMING
STANDINGS = {
    "open": _("open"),
    "performing": _("performing"),
    "lapsed": _("performing, its lease over"),
    "unknown": _("outcome unknown"),
    "performed": _("performed"),
}


def standing(operation: Operation, now: datetime) -> str:
    """Where an operation stands, by its state and what is known of its attempt."""
    if operation.state != PERFORMING:
        return operation.state
    if operation.outcome_unknown_since is not None:
        return "unknown"
    lease_until = operation.lease_until
    return "lapsed" if lease_until is not None and lease_until < now else "performing"


def in_standing(name: str, now: datetime) -> Q:
    """Find the operations of a standing, beginning with the state, which has an index."""
    if name in {"open", "performed"}:
        return Q(state=name)
    if name == "unknown":
        return Q(state=PERFORMING, outcome_unknown_since__isnull=False)
    attempts = Q(state=PERFORMING, outcome_unknown_since=None)
    is_over = Q(lease_until__isnull=False, lease_until__lt=now)
    return attempts & (is_over if name == "lapsed" else ~is_over)


class ChoiceFilter(admin.SimpleListFilter):
    """A filter that knows its values beforehand, so that no table is read for them."""

    def chosen(self) -> str | None:
        """Give the chosen value. Raises ``IncorrectLookupParameters`` for any other."""
        value = self.value()
        if value is not None and value not in dict(self.lookup_choices):
            raise IncorrectLookupParameters
        return value


class StandingFilter(ChoiceFilter):
    """What needs somebody's attention, and what does not."""

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
        return None if name is None else queryset.filter(in_standing(name, timezone.now()))


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
        agents = Agent.objects.using(using()).only("client_id", "name").order_by("client_id")
        return [(agent.client_id, str(agent)) for agent in agents]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Operation]
    ) -> QuerySet[Operation] | None:
        """Find the operations that the chosen agent was given."""
        client_id = self.chosen()
        return None if client_id is None else queryset.filter(client_id=client_id)


@admin.register(Operation)
class OperationAdmin(ReadOnlyAdmin):
    """An operation: who asked for what, on which terms, and what became of it."""

    operation_path = "pk"
    change_form_template = "admin/poppy_operations/operation/change_form.html"
    list_display = (
        "operation_id",
        "action",
        "interface",
        "client_id",
        "owning_account",
        "standing",
        "revision_count",
        "created_at",
    )
    list_filter = (
        StandingFilter,
        "interface",
        ActionFilter,
        AgentFilter,
        ("created_at", admin.DateFieldListFilter),
    )
    search_fields = ("operation_id", "client_id", "account")
    search_help_text = _("A whole operation ID, revision, agent's reference, client ID or account.")
    fieldsets: ClassVar = [
        (None, {"fields": ["operation_id", "action", "standing", "created_at", "revision_count"]}),
        (
            _("Whose it is"),
            {"fields": ["interface", "client_id", "user_id", "owning_account", "conversation"]},
        ),
        (
            _("Current or last attempt"),
            {
                "fields": [
                    "effects",
                    "idempotency_key",
                    "started_at",
                    "lease_until",
                    "outcome_unknown_since",
                ]
            },
        ),
    ]

    def matching(self, term: str) -> Q:
        """Find what an agent was given, and what was asked for in an account, as well."""
        by_owner = Q(client_id=term) | Q(account=term)
        return super().matching(term) | by_owner

    @admin.display(description=_("account"))
    def owning_account(self, operation: Operation) -> str | Promise:
        """Name the account, or say that the Session was signed out."""
        return _("signed out") if operation.account is None else operation.account

    @admin.display(description=_("standing"))
    def standing(self, operation: Operation) -> str | Promise:
        """Say where the operation stands now."""
        return STANDINGS[standing(operation, timezone.now())]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Show the operation with its history."""
        context["history"] = history_of(context["original"], request.user)
        return super().render_change_form(request, context, *args, **kwargs)
