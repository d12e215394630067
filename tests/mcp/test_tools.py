"""A gated tool, from the first call to the replay, by the official client (4, 6, 7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone
from mcp.types import CallToolResult

from poppy_operations import Decline, maintenance
from poppy_operations.models import Operation, Performance
from tests.agents import approval_of
from tests.clock import Clock
from tests.mcp.clients import URL, ToolClient, operation_in, text_of
from tests.shop.company import Policy
from tests.shop.models import Item
from tests.shop.operations import Behaviour
from tests.shop.tools import server

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]
TOOLS = ["order", "sync_order", "plain_order", "whole_order", "transfer"]
GATED = {*TOOLS, "scoped_order"}


@pytest.mark.requirement(
    "OPS-1-01",
    "OPS-1-02",
    "OPS-1-06",
    "OPS-1-08",
    "OPS-3-15",
    "OPS-4-01",
    "OPS-4-10",
    "OPS-4-11",
    "OPS-4-12",
    "OPS-6-24",
    "OPS-6-41",
    "OPS-6-42",
    "OPS-6-51",
    "OPS-7-02",
)
@pytest.mark.parametrize(
    ("mode", "json"), [("auto", True), ("auto", False), ("legacy", True), ("legacy", False)]
)
@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_is_performed_once_when_it_was_approved(
    tool: str, mode: str, json: bool, tools: ToolClient, effects: Effects
) -> None:
    tools.tool, tools.mode, tools.json = tool, mode, json
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
    assert {str(answer.url) for answer in tools.answers} == {URL}


def test_a_result_is_what_it_is_without_operations(tools: ToolClient) -> None:
    results = {tool: tools.approve(tools.ask(tool=tool), tool=tool) for tool in TOOLS}

    jacket = {"sku": "jacket", "quantity": 1, "note": None}
    assert {tool: result.structured_content for tool, result in results.items()} == {
        "order": jacket,
        "sync_order": jacket,
        "plain_order": None,
        "whole_order": {"sku": "jacket", "gift": None},
        "transfer": jacket,
    }
    assert text_of(results["plain_order"]) == "Ordered 1 × jacket."
    assert text_of(results["whole_order"]) == "Ordered."
    assert '"sku": "jacket"' in text_of(results["order"])


@pytest.mark.requirement("OPS-4-12")
def test_what_needs_approval_is_said_in_its_description_and_its_schemas_stay() -> None:
    listed = {tool.name: tool for tool in async_to_sync(server.list_tools)()}

    for name in GATED:
        description = listed[name].description or ""
        assert "Needs an approval" in description
        assert "personalagentprotocol.org/approval" in description
    assert "approval" not in (listed["price"].description or "")
    assert "It is delivered tomorrow." in (listed["order"].description or "")
    assert listed["order"].input_schema["properties"].keys() == {"sku", "quantity", "note"}
    assert listed["order"].input_schema["required"] == ["sku"]
    returned = listed["order"].output_schema or {}
    assert returned["type"] == "object"
    assert returned["$defs"]["Ordered"]["required"] == ["sku", "quantity"]
    assert listed["plain_order"].output_schema is None


def test_a_gated_tool_has_no_annotations_that_say_what_is_not_so() -> None:
    for tool in async_to_sync(server.list_tools)():
        assert tool.annotations is None  # whose defaults say that a tool writes, and may destroy


@pytest.mark.requirement("OPS-4-11")
@pytest.mark.parametrize("tool", ["order", "plain_order"])
def test_the_pending_result_passes_a_client_that_checks_the_output_schema(
    tool: str, tools: ToolClient
) -> None:
    async def listed_first() -> CallToolResult:
        async with tools.connected() as client:
            await client.list_tools()
            return await client.call_tool(tool, {"sku": "jacket"})

    assert operation_in(async_to_sync(listed_first)())


@pytest.mark.requirement(
    "OPS-1-05", "OPS-3-05", "OPS-3-08", "OPS-3-22", "OPS-3-25", "OPS-5-02", "OPS-6-52", "OPS-6-54"
)
def test_new_terms_are_a_new_revision_of_the_same_operation(
    tools: ToolClient, jacket: Item, effects: Effects
) -> None:
    operation = tools.ask()
    Item.objects.update(price="75.00")
    changed = operation_in(tools.approve(operation))

    assert changed["operation_id"] == operation["operation_id"]
    assert changed["revision"] != operation["revision"]
    assert changed["terms"]["total"]["amount"] == "75.00"
    assert effects() == []
    assert not tools.approve(changed).is_error
    assert effects() == ["api.order 1 jacket"]


def test_asking_again_gets_the_same_revision(tools: ToolClient) -> None:
    assert tools.ask() == tools.ask()


@pytest.mark.requirement("OPS-3-09", "OPS-6-53", "OPS-6-54")
def test_an_expired_revision_gets_a_new_one(
    tools: ToolClient, clock: Clock, effects: Effects
) -> None:
    operation = tools.ask()
    clock.at(hours=1)
    later = operation_in(tools.approve(operation))

    assert later["terms"] == operation["terms"]
    assert later["revision"] != operation["revision"]
    assert effects() == []


@pytest.mark.requirement("OPS-7-03", "OPS-7-07")
def test_the_replay_lasts_as_long_as_the_operation_is_remembered(
    tools: ToolClient, clock: Clock, effects: Effects
) -> None:
    operation = tools.ask()
    done = tools.approve(operation)
    clock.at(hours=1)
    assert tools.approve(operation).structured_content == done.structured_content
    clock.at(days=4)
    maintenance.purge()

    forgotten = operation_in(tools.approve(operation))
    assert forgotten["revision"] != operation["revision"]
    assert len(effects()) == 1


@pytest.mark.requirement(
    "OPS-1-04",
    "OPS-6-74",
    "OPS-6-76",
    "OPS-6-77",
    "OPS-6-78",
    "OPS-6-79",
    "OPS-6-80",
    "OPS-6-85",
    "OPS-6-86",
    "OPS-7-14",
)
@pytest.mark.ambiguity("AMB-19")
@pytest.mark.parametrize("reason", [None, "Too much for an agent."])
def test_amb_19_a_decline_says_so_in_words_and_members(
    reason: str | None, tools: ToolClient, company: Policy, effects: Effects
) -> None:
    company.decline = lambda operation, approval: Decline(reason)
    operation = tools.ask()
    declined = tools.approve(operation)

    members = {
        "error": "approval_declined",
        "operation_id": operation["operation_id"],
        "revision": operation["revision"],
    }
    assert declined.is_error
    assert declined.structured_content == {**members, **({"reason": reason} if reason else {})}
    assert text_of(declined).startswith("Not done. The approval was declined.")
    assert (reason or "") in text_of(declined)
    assert effects() == []


@pytest.mark.requirement("OPS-6-74", "OPS-8.1-05")
def test_an_approver_that_the_action_does_not_accept_is_declined(
    tools: ToolClient, effects: Effects
) -> None:
    tools.tool, tools.session = "scoped_order", with_scope(tools)
    operation = tools.ask()

    assert tools.approve(operation, "agent").is_error
    assert effects() == []
    assert not tools.approve(operation).is_error


def with_scope(tools: ToolClient) -> Any:
    """The client's Session with the scope that a tool wants."""
    assert tools.session is not None
    return replace(tools.session, scope="orders:write")


def under_way(**changed: Any) -> None:
    """Let another process have begun the operation."""
    Operation.objects.update(
        state=Operation.State.PERFORMING,
        attempt="elsewhere",
        started_at=timezone.now(),
        lease_until=timezone.now() + timedelta(minutes=1),
        **{"effects": "database", **changed},
    )


@pytest.mark.requirement("OPS-6-42", "OPS-7-09", "OPS-7-10")
@pytest.mark.ambiguity("AMB-20")
@pytest.mark.parametrize("tool", ["order", "plain_order"])
def test_amb_20_unfinished_work_is_in_progress_and_no_error(
    tool: str, tools: ToolClient, effects: Effects
) -> None:
    tools.tool = tool
    operation = tools.ask()
    under_way()

    for result in (tools.approve(operation), tools.call()):
        assert not result.is_error
        assert "in progress" in text_of(result)
        assert result.structured_content == {
            "operation_id": operation["operation_id"],
            "status": "performing",
        }
    assert effects() == []


@pytest.mark.requirement("OPS-7-08")
def test_an_external_action_whose_outcome_is_unknown_is_in_progress(
    tools: ToolClient, site: Behaviour, effects: Effects
) -> None:
    tools.tool = "transfer"
    operation = tools.ask()

    def break_down(operation: Any) -> None:
        raise OSError

    site.after_effect = break_down
    for result in (tools.approve(operation), tools.approve(operation)):
        assert not result.is_error
        assert "in progress" in text_of(result)
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-7-16")
def test_a_failure_leaves_the_approval_usable(
    tools: ToolClient, site: Behaviour, effects: Effects
) -> None:
    operation = tools.ask()

    def break_down(operation: Any) -> None:
        raise OSError

    site.after_effect = break_down
    failed = tools.approve(operation)
    assert failed.is_error
    assert "operation" not in (failed.structured_content or {})
    assert effects() == []
    site.reset()
    assert not tools.approve(operation).is_error
    assert effects() == ["api.order 1 jacket"]


@pytest.mark.requirement("OPS-6-25", "OPS-6-27", "OPS-8.1-07")
@pytest.mark.parametrize(
    "members",
    [
        {"approved_at": 1791487260, "input_type": "tap", "reference": "apr_1"},
        {"future": {"signature": ["x"]}},
        {"approved_at": 1.5, "input_type": 7, "reference": None},
        {},
    ],
)
def test_optional_and_unknown_members_of_an_approval_are_no_obstacle(
    members: dict[str, Any], tools: ToolClient, effects: Effects
) -> None:
    operation = tools.ask()

    assert not tools.call({**approval_of(operation), **members}).is_error
    assert len(effects()) == 1
    assert Performance.objects.count() == 1


@pytest.mark.ambiguity("AMB-04")
@pytest.mark.parametrize("value", ["yes", [], {}, {"operation_id": 1}, {"approver": "robot"}])
def test_amb_04_a_malformed_approval_is_a_tool_error_without_operation(
    value: Any, tools: ToolClient, effects: Effects
) -> None:
    operation = tools.ask()
    sent = {**operation, **value} if value == {"approver": "robot"} else value
    result = tools.call(meta={"personalagentprotocol.org/approval": sent})

    assert result.is_error
    assert result.structured_content == {"error": "invalid_request"}
    assert "invalid_request" in text_of(result)
    assert effects() == []


@pytest.mark.requirement("OPS-6-24")
def test_an_approval_elsewhere_is_not_seen(tools: ToolClient, effects: Effects) -> None:
    operation = tools.ask()
    approval = approval_of(operation)

    assert operation_in(tools.call(meta={"approval": approval}))
    assert operation_in(tools.call(arguments={"sku": "jacket", "approval": approval}))
    members = ", ".join(f'{name}="{value}"' for name, value in approval.items())
    tools.headers = {"Poppy-Approval": members}
    assert operation_in(tools.call())
    assert effects() == []
