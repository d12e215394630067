"""Fixtures of the tests of agents' browsers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from poppy_operations.sessions.agents import add_agent
from poppy_operations.testing.agents import TokenIssuer
from tests.agents import AGENT
from tests.connections import close_connections


@pytest.fixture(autouse=True)
def agents_site(db: None, issuer: TokenIssuer) -> Iterator[None]:
    """Give a site that knows the agent."""
    add_agent(AGENT.client_id, jwks=AGENT.jwks, name="Ada's agent")
    yield
    close_connections()
