"""A gated tool, from the first call to the replay, by the official client (4, 6, 7)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.mcp.clients import ToolClient, operation_in, text_of

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]
TOOLS = ["order", "sync_order", "plain_order", "whole_order", "transfer"]


@pytest.mark.requirement("OPS-4-10", "OPS-4-11", "OPS-4-12", "OPS-6-24", "OPS-6-51", "OPS-7-02")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_is_performed_once_when_it_was_approved(
    tool: str, mode: str, tools: ToolClient, effects: Effects
) -> None:
    tools.tool, tools.mode = tool, mode
    asked = tools.call()
    operation = operation_in(asked)

    assert effects() == []
    assert operation["terms"]["total"] == {"amount": "70.00", "currency": "USD"}
    assert text_of(asked) == f"Not done yet. This needs approval: {operation['summary']}"
    assert {answer.status_code for answer in tools.answers} <= {200, 202}
    done = tools.approve(operation)
    assert not done.is_error, done
    assert len(effects()) == 1
    again = tools.approve(operation)
    assert again.model_dump() == done.model_dump()
    assert len(effects()) == 1
