"""The allow-list of Personal Agents, with the Company's kill switch (8.1)."""

from __future__ import annotations

import json
import logging
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from poppy_operations import maintenance
from poppy_operations.admin.reading import ReadOnlyAdmin, deny_agents_browser, name_of
from poppy_operations.browser.state import browser_of
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.models import Agent

logger = logging.getLogger("poppy_operations")

PERHAPS_HALF_DONE = _(
    "The database is locked, unreachable or read-only, and it may be half done. "
    "Look, and try again."
)


@admin.register(Agent)
class AgentAdmin(ReadOnlyAdmin):
    """Agents are added by ``manage.py poppy_agents``, which checks their keys."""

    actions = ("revoke",)
    change_form_template = "admin/poppy_operations/agent/change_form.html"
    list_display = ("client_id", "name", "status", "revoked_at", "keys_failing_since", "created_at")
    list_filter = ("status",)
    unlisted = ("jwks",)
    ordering = ("client_id",)
    search_fields = ("client_id", "name")
    search_help_text = _("Part of a client ID or of a name.")
    fieldsets: ClassVar = [
        (None, {"fields": ["client_id", "name", "status", "revoked_at", "created_at"]}),
        (
            _("Keys"),
            {
                "fields": [
                    "jwks_uri",
                    "key_ids",
                    "keys_loaded_at",
                    "keys_tried_at",
                    "keys_failing_since",
                ]
            },
        ),
    ]

    def matching(self, term: str) -> Q:
        """Find parts too: there are few agents."""
        return Q(client_id__icontains=term) | Q(name__icontains=term)

    @admin.display(description=_("key IDs"))
    def key_ids(self, agent: Agent) -> str:
        """Name the public keys that are known."""
        keys = json.loads(agent.jwks or "{}").get("keys", [])
        return ", ".join(f"{key.get('kid', '?')} ({key.get('kty', '?')})" for key in keys)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Whether the request may revoke: if its user may change agents, in no agent's browser."""
        is_allowed = request.user.has_perm("poppy_operations.change_agent")
        return is_allowed and not browser_of(request).marked

    @admin.action(description=_("Revoke the selected Personal Agents"), permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[Agent]) -> HttpResponse | None:
        """Accept no Session of the agents any more, once the operator has confirmed it."""
        deny_agents_browser(request)
        agents = list(queryset.filter(status=Agent.Status.ALLOWED))
        if agents and request.POST.get("confirmed") != "yes":
            return self._confirmation(request, agents)
        number = 0
        try:
            for agent in agents:
                self._revoke(request, agent)
                number += 1
        except Busy:
            self.message_user(request, PERHAPS_HALF_DONE, messages.ERROR)
        message = ngettext(
            "%(count)d Personal Agent was revoked.",
            "%(count)d Personal Agents were revoked.",
            number,
        ) % {"count": number}
        self.message_user(request, message, messages.SUCCESS if number else messages.WARNING)
        return None

    def _revoke(self, request: HttpRequest, agent: Agent) -> None:
        maintenance.revoke(agent.client_id)
        self.log_change(request, agent, "Revoked.")
        extra = {"client_id": agent.client_id, "revoked_by": name_of(request.user)}
        logger.warning("A Personal Agent was revoked in the admin.", extra=extra)

    def get_urls(self) -> list[URLPattern]:
        """Add the page on which one agent is revoked."""
        page = path(
            "<path:object_id>/revoke/",
            self.deciding(self.revoke_view),
            name="poppy_operations_agent_revoke",
        )
        return [page, *super().get_urls()]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Show the agent, and whether it can be revoked."""
        is_allowed = context["original"].status == Agent.Status.ALLOWED
        context["can_revoke"] = is_allowed and self.has_revoke_permission(request)
        return super().render_change_form(request, context, *args, **kwargs)

    def revoke_view(self, request: HttpRequest, agent: Agent) -> HttpResponse:
        """Revoke one agent, once the operator has confirmed it."""
        if not self.has_revoke_permission(request):
            raise PermissionDenied
        if agent.status != Agent.Status.ALLOWED:
            return self.decided(request, agent, _("It was revoked before."), messages.WARNING)
        if request.method != "POST":
            return self._confirmation(request, [agent])
        try:
            self._revoke(request, agent)
        except Busy:
            return self.decided(request, agent, PERHAPS_HALF_DONE, messages.ERROR)
        return self.decided(request, agent, _("The agent is revoked."), messages.SUCCESS)

    def _confirmation(self, request: HttpRequest, agents: list[Agent]) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": _("Revoke Personal Agents"),
            "agents": agents,
            "opts": self.opts,
            "checkbox": ACTION_CHECKBOX_NAME,
            "media": self.media,
        }
        request.current_app = self.admin_site.name
        template = "admin/poppy_operations/agent/revoke_confirmation.html"
        return TemplateResponse(request, template, context)
