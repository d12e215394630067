"""Revoking an agent (8.1)."""

from __future__ import annotations

from datetime import datetime

from poppy_operations.browser.joins import end_joins_of
from poppy_operations.lifecycle.durable import busy_where_in_the_way
from poppy_operations.models import Agent
from poppy_operations.models.instants import instant
from poppy_operations.sessions.agents import revoke_agent


def revoke(client_id: str, *, now: datetime | None = None) -> Agent:
    """Revoke an agent: its Sessions are refused from now on, and its browsers' joins are over.

    They stay over should the agent be allowed again. Raises ``UnknownAgent``, and ``Busy`` if
    the database is locked, unreachable or read-only: do it again then, for the joins may go on.
    """
    with busy_where_in_the_way():
        agent = revoke_agent(client_id)
        end_joins_of(agent, instant(now))
    return agent
