"""What two calls have in common: what was sent, and nothing that the SDK made of it (check 3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.agents import approval_of
from tests.mcp.clients import ToolClient, operation_in

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]


@pytest.mark.requirement("OPS-6-26", "OPS-6-49")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"sku": "jacket", "quantity": 2}, {"quantity": 2, "sku": "jacket"}),
        ({"sku": "jacket", "quantity": 1}, {"sku": "jacket"}),
        ({"sku": "jacket", "quantity": 2}, {"sku": "jacket", "quantity": 2.0}),
        ({"sku": "jacket"}, {"sku": "jacket", "note": None}),
        (
            {"sku": "jacket", "note": {"to": "Bob", "gift": [1, {"x": None}]}},
            {"note": {"gift": [1, {"x": None}], "to": "Bob"}, "sku": "jacket"},
        ),
    ],
)
def test_what_means_the_same_is_the_same_call(
    first: dict[str, Any], second: dict[str, Any], tools: ToolClient, effects: Effects
) -> None:
    operation = tools.ask(arguments=first)

    assert not tools.approve(operation, arguments=second).is_error
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-1-05", "OPS-6-26", "OPS-6-46", "OPS-6-52")
@pytest.mark.parametrize(
    "arguments",
    [
        {"sku": "jacket", "quantity": 2},
        {"sku": "jacket", "quantity": "1"},
        {"sku": "jacket", "quantity": True},
        {"sku": "jacket", "note": ""},
        {"sku": "jacket", "note": [None]},
        {"sku": "jacket", "note": {}},
        {"sku": "jacket", "gift": "yes"},
        {"sku": "jacket", "gift": None},
        {"sku": "jacket", "Quantity": 1},
        {"sku": "jacket", "ctx": {}},
        {"sku": "jacket", "_poppy": 1},
    ],
)
def test_what_is_sent_besides_or_otherwise_must_not_ride_along(
    arguments: dict[str, Any], tools: ToolClient, effects: Effects
) -> None:
    operation = tools.ask()
    other = operation_in(tools.approve(operation, arguments=arguments))

    assert other["revision"] != operation["revision"]
    assert effects() == []
    assert not tools.approve(other, arguments=arguments).is_error
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-6-26", "OPS-6-46")
@pytest.mark.parametrize("tool", ["sync_order", "transfer"])
def test_an_approval_is_good_for_one_tool(tool: str, tools: ToolClient, effects: Effects) -> None:
    operation = tools.ask()
    other = operation_in(tools.approve(operation, tool=tool))

    assert other["operation_id"] != operation["operation_id"]
    assert effects() == []


@pytest.mark.requirement("OPS-6-41", "OPS-6-42", "OPS-6-45")
@pytest.mark.ambiguity("AMB-07")
def test_amb_07_elsewhere_it_only_says_that_it_was_performed(
    tools: ToolClient, effects: Effects
) -> None:
    operation = tools.ask()
    tools.approve(operation)
    told = tools.approve(operation, tool="sync_order")

    assert not told.is_error
    assert told.structured_content == {
        "operation_id": operation["operation_id"],
        "status": "performed",
    }
    assert len(effects()) == 1


@pytest.mark.parametrize("url", ["http://other.example/mcp", "http://shop.example/mcp?shop=2"])
def test_the_address_of_the_server_counts(url: str, tools: ToolClient, effects: Effects) -> None:
    operation = tools.ask()
    tools.url = url
    assert operation_in(tools.approve(operation))
    assert effects() == []


def test_the_site_says_what_does_not_matter(tools: ToolClient, effects: Effects) -> None:
    tools.tool = "transfer"
    operation = tools.ask(arguments={"sku": "jacket", "trace": "a"})

    done = tools.approve(operation, arguments={"sku": "jacket", "trace": "b"})
    assert not done.is_error
    assert len(effects()) == 1


def test_other_metadata_is_no_content(tools: ToolClient, effects: Effects) -> None:
    operation = tools.ask(meta={"example.com/trace": "1"})
    sent = {"example.com/trace": "2", "progressToken": 7}

    assert not tools.call(approval_of(operation), meta=sent).is_error
    assert len(effects()) == 1
