"""What belongs to operations, row by row: terms, approvals, declines, outcomes, browser joins."""

from __future__ import annotations

import logging
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from poppy_operations.admin.deciding import BecauseForm, unused_approvals
from poppy_operations.admin.filters import ChoiceFilter
from poppy_operations.admin.history import moment
from poppy_operations.admin.reading import NOTHING_CHANGED, ReadOnlyAdmin, name_of, pretty
from poppy_operations.browser.state import browser_of
from poppy_operations.gate.revisions import seconds, unexpired
from poppy_operations.lifecycle.approving import void
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.logs import about, log_of
from poppy_operations.models import (
    Agent,
    Approval,
    Decline,
    Join,
    Operation,
    Performance,
    Revision,
    Settlement,
    instants,
)
from poppy_operations.models.databases import write_alias

STATED = _("Stated by the Personal Agent")
USED = _(
    "Nothing was changed. The approval is used, or in use, or cannot be used any more: it is too "
    "late to void it."
)
LONG_OF_A_REVISION = ("terms", "content_fields", "summary")
THEIR_OPERATION = "operation__refusal"
THEIR_REVISIONS = tuple(f"revision__{name}" for name in LONG_OF_A_REVISION)
UNVERIFIED = _("The Company cannot verify this; it proves nothing about the User.")


class ApprovableFilter(ChoiceFilter):
    """Revisions that can still be approved, and those that have expired."""

    title = _("can be approved")
    parameter_name = "approvable"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        """Name both kinds."""
        return [("yes", _("not expired")), ("no", _("expired"))]

    def queryset(self, request: Any, queryset: QuerySet[Revision]) -> QuerySet[Revision] | None:
        """Find them by the date, which has an index. Valid to the end of the last second."""
        chosen, now = self.chosen(), instants.now()
        if chosen is None:
            return None
        over = Q(expires_at__lt=seconds(now))
        return queryset.filter(unexpired(now) if chosen == "yes" else over)


class ApproverFilter(ChoiceFilter):
    """The approver that the agent stated: the User or the agent."""

    title = _("approver, as stated")
    parameter_name = "stated_approver"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        """Name the approvers of the protocol."""
        return [("user", _("the User")), ("agent", _("the Personal Agent"))]

    def queryset(self, request: Any, queryset: QuerySet[Any]) -> QuerySet[Any] | None:
        """Find the rows of that approver."""
        chosen = self.chosen()
        return None if chosen is None else queryset.filter(approver=chosen)


@admin.register(Revision)
class RevisionAdmin(ReadOnlyAdmin):
    """One set of terms, as it was returned and will always be."""

    list_display = ("revision", "operation", "number", "returned_at", "expires_at", "retired_at")
    list_select_related = ("operation",)
    list_filter = (ApprovableFilter,)
    unlisted = (*LONG_OF_A_REVISION, THEIR_OPERATION)
    fieldsets: ClassVar = [
        (None, {"fields": ["revision", "operation", "number", "summary", "stored_terms"]}),
        (
            _("Time"),
            {"fields": ["returned_at", "expires_at", "lifetime_s", "looked_up_at", "retired_at"]},
        ),
    ]

    @admin.display(description=_("terms"))
    def stored_terms(self, revision: Revision) -> SafeString | None:
        """Show the terms for people."""
        return pretty(revision.terms)


@admin.register(Approval)
class ApprovalAdmin(ReadOnlyAdmin):
    """An agent's statement, or a person's decision in review."""

    change_form_template = "admin/poppy_operations/approval/change_form.html"
    # Its own key is random; the newest operations stand first.
    ordering = ("-operation_id",)
    list_display = ("operation", "revision", "approver", "reference", "received_at", "voided_at")
    list_select_related = ("operation", "revision")
    list_filter = (ApproverFilter,)
    unlisted = ("voided_because", *THEIR_REVISIONS, THEIR_OPERATION)
    fieldsets: ClassVar = [
        (None, {"fields": ["operation", "revision", "sid", "received_at", "person"]}),
        (
            STATED,
            {
                "description": UNVERIFIED,
                "fields": ["approver", "stated_at", "input_type", "reference"],
            },
        ),
        (_("Voided"), {"fields": ["voided_at", "voided_by", "voided_because"]}),
    ]

    @admin.display(description=_("approved at, as stated"))
    def stated_at(self, approval: Approval) -> str | None:
        """Show the time that the agent stated, whatever it is."""
        return moment(approval.approved_at)

    def get_urls(self) -> list[URLPattern]:
        """Add the page on which an unused approval is voided."""
        page = path(
            "<path:object_id>/void/",
            self.deciding(self.void_view),
            name="poppy_operations_approval_void",
        )
        return [page, *super().get_urls()]

    def has_void_permission(self, request: HttpRequest) -> bool:
        """Whether the request may void: if its user has that right, in no agent's browser."""
        is_allowed = request.user.has_perm("poppy_operations.void_approval")
        return is_allowed and not browser_of(request).marked

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Show the approval, and whether it can be voided."""
        may_void = self.has_void_permission(request)
        context["can_void"] = may_void and is_unused(context["original"])
        return super().render_change_form(request, context, *args, **kwargs)

    def void_view(self, request: HttpRequest, approval: Approval) -> HttpResponse:
        """Ask why, and void an approval that was not used."""
        if not self.has_void_permission(request):
            raise PermissionDenied
        if not is_unused(approval):
            return self.decided(request, approval, USED, messages.WARNING)
        form = BecauseForm(request.POST or None)
        if not form.is_valid():
            return self.decision(
                request,
                approval,
                "approval/void.html",
                title=_("Void an unused approval"),
                form=form,
                terms=pretty(approval.revision.terms),
            )
        by, because = name_of(request.user), form.cleaned_data["because"]
        try:
            voided = void(approval, by=by, because=because, now=instants.now())
        except Busy:
            return self.decided(request, approval, NOTHING_CHANGED, messages.ERROR)
        if not voided:
            return self.decided(request, approval, USED, messages.ERROR)
        self.log_change(request, approval, "Voided.")
        log_of(
            logging.WARNING,
            "An approval was voided in the admin.",
            **about(approval.operation),
            voided_by=by,
        )
        sees_it = request.user.has_perm("poppy_operations.view_operation")
        page = approval.operation if sees_it else approval
        return self.decided(request, page, _("The approval is void."), messages.SUCCESS)


def is_unused(approval: Approval) -> bool:
    """Whether the approval can still be used, and nobody has begun."""
    operation = approval.operation
    if operation.state != Operation.State.OPEN:
        return False
    return approval in unused_approvals(operation, instants.now())


@admin.register(Decline)
class DeclineAdmin(ReadOnlyAdmin):
    """The Company's refusal of an approval."""

    list_display = ("operation", "revision", "approver", "rule", "declined_at")
    list_select_related = ("operation", "revision")
    list_filter = (ApproverFilter,)
    unlisted = ("reason", "alternative", *THEIR_REVISIONS, THEIR_OPERATION)
    fieldsets: ClassVar = [
        (None, {"fields": ["operation", "revision", "sid", "declined_at"]}),
        (_("Why"), {"fields": ["rule", "reason", "other_way"]}),
        (STATED, {"description": UNVERIFIED, "fields": ["approver"]}),
    ]

    @admin.display(description=_("alternative"))
    def other_way(self, decline: Decline) -> SafeString | None:
        """Show the alternative for people."""
        return pretty(decline.alternative)


@admin.register(Performance)
class PerformanceAdmin(ReadOnlyAdmin):
    """An operation was performed. The answer is not shown: it may hold secrets."""

    list_display = ("operation", "revision", "how", "status", "finished_at")
    list_select_related = ("operation", "revision")
    list_filter = ("how",)
    unlisted = ("headers", "body", *THEIR_REVISIONS, THEIR_OPERATION)
    fieldsets: ClassVar = [
        (None, {"fields": ["operation", "revision", "approval", "how", "status", "finished_at"]}),
    ]


@admin.register(Settlement)
class SettlementAdmin(ReadOnlyAdmin):
    """Who ended an unknown outcome, how and why."""

    list_display = ("operation", "outcome", "settled_by", "settled_at")
    list_select_related = ("operation",)
    list_filter = ("outcome",)
    unlisted = ("because", THEIR_OPERATION)
    fieldsets: ClassVar = [
        (None, {"fields": ["operation", "outcome", "settled_by", "because", "settled_at"]}),
        (_("Time"), {"fields": ["started_at", "unknown_since"]}),
    ]


@admin.register(Join)
class JoinAdmin(ReadOnlyAdmin):
    """A browser that an agent joined to its Session, or the ticket for it."""

    list_display = ("sid", "agent", "account", "created_at", "redeemed_at", "ended_at")
    list_select_related = ("agent",)
    list_filter = ("agent",)
    unlisted = ("return_to", "agent__jwks")
    search_fields = ("agent",)
    search_help_text = _("A whole client ID.")
    fieldsets: ClassVar = [
        (None, {"fields": ["agent", "user_id", "account", "sid", "declared", "gave_login"]}),
        (
            _("Time"),
            {
                "fields": [
                    "created_at",
                    "ticket_expires_at",
                    "redeemed_at",
                    "expires_at",
                    "ended_at",
                    "ended_because",
                ]
            },
        ),
    ]

    def matching(self, term: str) -> Q:
        """Find the joins of an agent."""
        agents = Agent.objects.using(write_alias()).filter(client_id=term)
        return Q(agent__in=list(agents.values_list("pk", flat=True)))
