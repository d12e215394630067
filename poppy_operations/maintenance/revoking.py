"""Revoking an agent (8.1)."""

from __future__ import annotations

from datetime import datetime

from poppy_operations.browser.joins import end_joins_of
from poppy_operations.lifecycle.durable import busy_if_unusable
from poppy_operations.models import Agent
from poppy_operations.models.instants import instant
from poppy_operations.sessions.agents import revoke_agent


def revoke(client_id: str, *, now: datetime | None = None) -> Agent:
    """Revoke an agent: its Sessions are refused from now on, and its browsers' joins are over.

    If the agent is allowed again, the joins stay over. Raises ``UnknownAgent`` if no agent has that
    ``client_id``, and ``Busy`` if the database is locked, unreachable or read-only: then revoke it
    again, since its joins may go on.
    """
    with busy_if_unusable():
        agent = revoke_agent(client_id)
        end_joins_of(agent, instant(now))
    return agent
