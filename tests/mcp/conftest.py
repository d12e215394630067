"""Fixtures of the tests of MCP tools."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from poppy_operations.declarations.registry import registry
from tests.agents import SessionOf
from tests.mcp.clients import ToolClient
from tests.mcp.servers import OwnServer
from tests.shop.models import Item
from tests.shop.orders import ApiBehaviour, api

# Where it is named, it is run all the same, and fails without the package.
collect_ignore = [] if find_spec("fastmcp") else ["test_fastmcp.py"]


@pytest.fixture
def shop(jacket: Item) -> Iterator[ApiBehaviour]:
    """How the tools behave; there is a jacket to buy."""
    api.reset()
    yield api
    api.reset()


@pytest.fixture
def tools(shop: ApiBehaviour, signed_in: SessionOf) -> ToolClient:
    """A client in a Session that is signed in to alice's account."""
    return ToolClient(signed_in)


@pytest.fixture
def signed_out_tools(shop: ApiBehaviour, signed_out: SessionOf) -> ToolClient:
    """A client in a Session that is not signed in."""
    return ToolClient(signed_out)


@pytest.fixture
def own() -> Iterator[OwnServer]:
    """A server of the test's own."""
    server = OwnServer()
    yield server
    for action in server.actions:
        registry.discard(action)
