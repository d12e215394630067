"""How many statements a tool costs, beside the site's own: no more than the API's."""

from __future__ import annotations

import pytest
from asgiref.sync import async_to_sync

from tests.agents import ApiClient
from tests.api.test_budgets import our_queries
from tests.mcp.clients import ToolClient

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("tool", ["order", "sync_order", "plain_order", "transfer"])
def test_a_tools_calls_stay_within_the_budgets_of_the_api(tool: str, tools: ToolClient) -> None:
    tools.tool = tool
    with our_queries() as asking:
        operation = tools.ask()
    with our_queries() as asking_again:
        assert tools.ask() == operation
    with our_queries() as performing:
        assert not tools.approve(operation).is_error
    with our_queries() as replaying:
        assert not tools.approve(operation).is_error

    assert len(asking()) <= 4, asking()
    assert len(asking_again()) <= 3, asking_again()
    assert len(performing()) <= 6, performing()
    assert len(replaying()) <= 2, replaying()


def test_a_tool_costs_what_the_api_costs(tools: ToolClient) -> None:
    assert tools.session is not None
    api = ApiClient(tools.session, "/api/class/")
    of_api, of_tool = api.ask(), tools.ask()
    with our_queries() as by_api:
        assert api.approve(of_api).status_code == 201
    with our_queries() as by_tool:
        assert not tools.approve(of_tool).is_error

    assert len(by_tool()) <= len(by_api()), (by_tool(), by_api())


def test_a_tool_that_is_not_gated_costs_nothing(tools: ToolClient) -> None:
    async def listed() -> None:
        async with tools.connected() as client:
            await client.list_tools()

    with our_queries() as ours:
        assert not tools.call(tool="price").is_error
        async_to_sync(listed)()
    assert ours() == []
