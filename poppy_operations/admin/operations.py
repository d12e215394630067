"""Operations: the standing of each, its history at a glance, and settling unknown outcomes."""

from __future__ import annotations

import logging
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from poppy_operations import maintenance
from poppy_operations.admin.deciding import SettleForm, unused_approvals
from poppy_operations.admin.filters import (
    STANDINGS,
    ActionFilter,
    AgentFilter,
    HappeningFilter,
    StandingFilter,
    standing,
)
from poppy_operations.admin.history import history_of
from poppy_operations.admin.reading import NOTHING_CHANGED, ReadOnlyAdmin, name_of, pretty
from poppy_operations.browser.state import browser_of
from poppy_operations.declarations.registry import registry
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.lifecycle.settling import can_settle
from poppy_operations.logs import about, log_of
from poppy_operations.models import Approval, Operation, instants
from poppy_operations.models.databases import write_alias

TWO_LINES = '{}<div class="poppy-quiet">{}</div>'
TOO_LATE = _(
    "Nothing was changed. The attempt that you looked at is not in question any more: see below "
    "what became of it."
)


@admin.register(Operation)
class OperationAdmin(ReadOnlyAdmin):
    """An operation: who asked for what, on which terms, and what became of it."""

    operation_path = "pk"
    unlisted = ("refusal",)
    change_form_template = "admin/poppy_operations/operation/change_form.html"
    list_display = (
        "what",
        "where_it_stands",
        "whose",
        "created_at",
    )
    list_filter = (
        StandingFilter,
        HappeningFilter,
        ActionFilter,
        AgentFilter,
        "interface",
        ("created_at", admin.DateFieldListFilter),
    )
    search_fields = ("operation_id", "client_id", "account")
    search_help_text = _("A whole operation ID, revision, agent's reference, client ID or account.")
    fieldsets: ClassVar = [
        (None, {"fields": ["operation_id", "action", "created_at", "revision_count"]}),
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
        """Find the operations of an agent, and those of an account, as well."""
        by_owner = Q(client_id=term) | Q(account=term)
        return super().matching(term) | by_owner

    @admin.display(description=_("operation"))
    def what(self, operation: Operation) -> SafeString:
        """Name the action, and the one operation."""
        return format_html(TWO_LINES, operation.action, operation.operation_id)

    @admin.display(description=_("account, agent and interface"))
    def whose(self, operation: Operation) -> SafeString:
        """Name the account, and the agent that asked for it."""
        agent = (operation.client_id or "–").removeprefix("https://")
        interface = operation.get_interface_display()
        return format_html(TWO_LINES, self.owning_account(operation), f"{agent}, {interface}")

    @admin.display(description=_("account"))
    def owning_account(self, operation: Operation) -> str | Promise:
        """Name the account, or say that the Session was signed out."""
        return _("signed out") if operation.account is None else operation.account

    @admin.display(description=_("standing"))
    def where_it_stands(self, operation: Operation) -> SafeString:
        """Show the standing of the operation now."""
        name = standing(operation, instants.now())
        label = STANDINGS[name]
        return format_html('<span class="poppy-standing poppy-{}">{}</span>', name, label)

    def get_urls(self) -> list[URLPattern]:
        """Add the page on which an outcome is settled."""
        settle = path(
            "<path:object_id>/settle/",
            self.deciding(self.settle_view),
            name="poppy_operations_operation_settle",
        )
        return [settle, *super().get_urls()]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Show the operation with its history, and what can be decided about it."""
        operation: Operation = context["original"]
        now = instants.now()
        name = standing(operation, now)
        context |= {
            "title": operation.operation_id,
            "subtitle": None,
            "history": history_of(operation, request.user),
            "standing": name,
            "standing_label": STANDINGS[name],
            "may_settle": self.has_settle_permission(request),
            "has_hook": _has_hook(operation),
            "unused": self._voidable(request, operation),
        }
        return super().render_change_form(request, context, *args, **kwargs)

    def has_settle_permission(self, request: HttpRequest) -> bool:
        """Whether the request may settle: if its user has that right, in no agent's browser."""
        is_allowed = request.user.has_perm("poppy_operations.settle_operation")
        return is_allowed and not browser_of(request).marked

    def _voidable(self, request: HttpRequest, operation: Operation) -> set[Any]:
        is_allowed = request.user.has_perm("poppy_operations.void_approval")
        if operation.state != Operation.State.OPEN or not is_allowed or browser_of(request).marked:
            return set()
        return {approval.pk for approval in unused_approvals(operation, instants.now())}

    def settle_view(self, request: HttpRequest, operation: Operation) -> HttpResponse:
        """Ask what became of an attempt, and settle it."""
        if not self.has_settle_permission(request):
            raise PermissionDenied
        now = instants.now()
        if not can_settle(operation, now):
            return self.decided(request, operation, TOO_LATE, messages.WARNING)
        may_void = request.user.has_perm("poppy_operations.void_approval")
        approvals = unused_approvals(operation, now) if may_void else ()
        form = SettleForm(
            request.POST or None,
            operation=operation,
            approvals=approvals,
            initial={"attempt": operation.attempt},
        )
        if form.is_valid():
            return self._settle(request, operation, form)
        approval = _approval_of(operation)
        return self.decision(
            request,
            operation,
            "operation/settle.html",
            title=_("Settle an unknown outcome"),
            form=form,
            revision=None if approval is None else approval.revision,
            terms=None if approval is None else pretty(approval.revision.terms),
            has_hook=_has_hook(operation),
        )

    def _settle(self, request: HttpRequest, operation: Operation, form: SettleForm) -> HttpResponse:
        # The row was read by this request; the form says which attempt the person looked at.
        if form.cleaned_data["attempt"] != operation.attempt:
            return self.decided(request, operation, TOO_LATE, messages.ERROR)
        performed, by = form.performed(), name_of(request.user)
        try:
            settled = maintenance.settle_by_hand(
                operation,
                performed,
                by=by,
                because=form.cleaned_data["because"],
                void=form.to_void(),
            )
        except Busy:
            return self.decided(request, operation, NOTHING_CHANGED, messages.ERROR)
        if not settled:
            return self.decided(request, operation, TOO_LATE, messages.ERROR)
        outcome = _("performed") if performed is not None else _("not performed")
        self.log_change(request, operation, f"Settled as {outcome}.")
        log_of(
            logging.WARNING,
            "An unknown outcome was settled in the admin.",
            **about(operation),
            settled_by=by,
        )
        message = _("Settled as %(outcome)s.") % {"outcome": outcome}
        return self.decided(request, operation, message, messages.SUCCESS)


def _approval_of(operation: Operation) -> Approval | None:
    """The approval in use, read from the database that it is written to."""
    approvals = Approval.objects.using(write_alias()).select_related("revision")
    return approvals.filter(pk__in=[operation.approval_id]).first()


def _has_hook(operation: Operation) -> bool:
    action = registry.get(operation.action)
    return action is not None and action.reconcile_hook is not None
