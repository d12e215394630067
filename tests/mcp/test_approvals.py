"""The approval in ``_meta``: what is read of it, what is dropped, and what is refused (6)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

import pytest

from poppy_operations.models import Approval
from tests.agents import approval_of
from tests.mcp.clients import ToolClient
from tests.mcp.test_callers import refused

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]
OPTIONAL = {"approved_at": 1791487260, "input_type": "tap", "reference": "apr_01JD8ZK3Q9"}


@pytest.mark.requirement("OPS-6-05", "OPS-6-09", "OPS-6-10", "OPS-6-13", "OPS-6-25")
def test_what_the_agent_stated_is_kept(tools: ToolClient) -> None:
    operation = tools.ask()
    assert not tools.call(approval_of(operation, **OPTIONAL)).is_error
    kept = Approval.objects.get(reference="apr_01JD8ZK3Q9")

    assert (kept.approver, kept.input_type, kept.sid) == ("user", "tap", "ses_1")
    assert datetime.fromtimestamp(kept.approved_at or 0, UTC) == datetime(
        2026, 10, 8, 19, 21, tzinfo=UTC
    )


@pytest.mark.requirement("OPS-6-11")
@pytest.mark.parametrize(
    "names",
    [names for count in range(3) for names in combinations(OPTIONAL, count)],
    ids="-".join,
)
def test_no_optional_member_has_to_be_there(
    names: tuple[str, ...], tools: ToolClient, effects: Effects
) -> None:
    operation = tools.ask()
    members: dict[str, Any] = {name: OPTIONAL[name] for name in names}

    assert not tools.call(approval_of(operation, **members)).is_error
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-6-06")
@pytest.mark.parametrize("approved_at", [0, 1, 4102444800])
def test_approved_at_is_compared_with_nothing(approved_at: int, tools: ToolClient) -> None:
    operation = tools.ask()

    assert not tools.call(approval_of(operation, approved_at=approved_at)).is_error
    assert Approval.objects.get().approved_at == approved_at


@pytest.mark.requirement("OPS-6-07", "OPS-6-12")
@pytest.mark.parametrize("input_type", ["tap", "brainwave"])
def test_an_input_type_that_nobody_knows_is_kept(input_type: str, tools: ToolClient) -> None:
    operation = tools.ask()

    assert not tools.call(approval_of(operation, input_type=input_type)).is_error
    assert Approval.objects.get().input_type == input_type


@pytest.mark.requirement("OPS-6-08", "OPS-5-01")
def test_the_input_type_of_an_agents_approval_is_ignored(tools: ToolClient) -> None:
    operation = tools.ask()

    assert not tools.call(approval_of(operation, "agent", input_type="tap")).is_error
    kept = Approval.objects.get()
    assert (kept.approver, kept.input_type) == ("agent", "")


@pytest.mark.requirement("OPS-6-14")
def test_the_same_reference_may_come_twice(tools: ToolClient, effects: Effects) -> None:
    for quantity in (1, 2):
        arguments = {"sku": "jacket", "quantity": quantity}
        operation = tools.ask(arguments=arguments)
        approval = approval_of(operation, reference="apr_1")
        assert not tools.call(approval, arguments=arguments).is_error
    assert len(effects()) == 2


@pytest.mark.requirement("OPS-6-02", "OPS-6-03", "OPS-6-04")
@pytest.mark.parametrize(
    "member",
    [
        {"operation_id": 7},
        {"operation_id": None},
        {"revision": 1},
        {"revision": None},
        {"approver": None},
        {"approver": "User"},
        {"approver": "robot"},
    ],
)
def test_an_approval_without_what_it_needs_is_no_request(
    member: dict[str, Any], tools: ToolClient, effects: Effects
) -> None:
    operation = tools.ask()

    refused(tools.call({**approval_of(operation), **member}), "invalid_request")
    assert effects() == []
