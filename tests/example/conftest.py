"""The running shop, as Personal Agents meet it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from example_project.tour.server import Server
from tests.example.callers import AGENT, OTHER_AGENT


@pytest.fixture(scope="package")
def server() -> Iterator[Server]:
    """A server with a shop that knows two agents."""
    with Server() as server:
        for number, agent in enumerate((AGENT, OTHER_AGENT)):
            key_set = server.folder / f"agent-{number}.jwks.json"
            key_set.write_text(json.dumps(agent.jwks))
            server.command("poppy_agents", "add", agent.client_id, "--jwks", str(key_set))
        yield server


@pytest.fixture
def shop(server: Server) -> Server:
    """The same, with the data that it began with."""
    server.command("demo_seed", "--reset")
    return server
