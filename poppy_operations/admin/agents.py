"""The allow-list of Personal Agents, with the Company's kill switch (8.1)."""

from __future__ import annotations

import json
import logging
from typing import ClassVar

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from poppy_operations.admin.reading import ReadOnlyAdmin, refuse_agents_browser
from poppy_operations.browser.state import browser_of
from poppy_operations.models import Agent
from poppy_operations.sessions.agents import revoke_agent

logger = logging.getLogger("poppy_operations")


@admin.register(Agent)
class AgentAdmin(ReadOnlyAdmin):
    """Agents are added by ``manage.py poppy_agents``, where their keys are checked."""

    actions = ("revoke",)
    list_display = ("client_id", "name", "status", "revoked_at", "keys_failing_since", "created_at")
    list_filter = ("status",)
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
        """Whether the request may revoke: who could change agents, and no agent's browser."""
        is_allowed = request.user.has_perm("poppy_operations.change_agent")
        return is_allowed and not browser_of(request).marked

    @admin.action(description=_("Revoke the selected Personal Agents"), permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[Agent]) -> HttpResponse | None:
        """Accept no Session of the agents any more, once the operator has confirmed it."""
        refuse_agents_browser(request)
        agents = list(queryset.filter(status=Agent.Status.ALLOWED))
        if agents and request.POST.get("confirmed") != "yes":
            return self._confirmation(request, agents)
        for agent in agents:
            revoke_agent(agent.client_id)
            self.log_change(request, agent, "Revoked.")
            logger.warning("%s was revoked in the admin by %s.", agent.client_id, request.user.pk)
        message = ngettext(
            "%(count)d Personal Agent was revoked.",
            "%(count)d Personal Agents were revoked.",
            len(agents),
        ) % {"count": len(agents)}
        self.message_user(request, message, messages.SUCCESS if agents else messages.WARNING)
        return None

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
