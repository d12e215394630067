"""Declines at a tool: when they come, and what they say (6, 7)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from poppy_operations import Decline
from poppy_operations.models import Approval, Operation
from poppy_operations.models import Decline as DeclineRow
from tests.agents import SessionOf, approval_of
from tests.mcp.clients import ToolClient, operation_in
from tests.shop.company import Policy

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]
ALTERNATIVE = {
    "instructions": "Call us.",
    "references": [{"type": "web", "url": "https://shop.example/call"}],
}


@pytest.mark.requirement("OPS-6-80", "OPS-6-81")
@pytest.mark.parametrize("reason", [None, "Not today."])
@pytest.mark.parametrize("alternative", [None, ALTERNATIVE])
def test_a_decline_has_a_reason_and_an_alternative_where_the_site_gives_them(
    reason: str | None, alternative: Any, tools: ToolClient, company: Policy, effects: Effects
) -> None:
    company.decline = lambda operation, approval: Decline(reason, alternative, rule="the limit")
    members = tools.approve(tools.ask()).structured_content or {}

    assert members["error"] == "approval_declined"
    assert members.get("reason") == reason
    assert members.get("alternative") == alternative
    assert ("reason" in members, "alternative" in members) == (
        reason is not None,
        alternative is not None,
    )
    assert "the limit" not in str(members)
    assert effects() == []


@pytest.mark.requirement("OPS-6-90", "OPS-7-14")
@pytest.mark.ambiguity("AMB-23")
def test_amb_23_a_declined_approval_is_declined_again_though_the_policy_has_changed(
    tools: ToolClient, company: Policy, effects: Effects
) -> None:
    company.decline = lambda operation, approval: Decline("Not today.", ALTERNATIVE)
    operation = tools.ask()
    first = tools.approve(operation, "agent")
    company.decline = lambda operation, approval: None
    again = tools.approve(operation, "agent")

    assert first.is_error
    assert again.model_dump() == first.model_dump()
    assert DeclineRow.objects.count() == 1
    assert not Approval.objects.exists()
    assert Operation.objects.get().state == Operation.State.OPEN
    assert not tools.approve(operation, "user").is_error
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-6-75")
def test_nobody_is_asked_to_decline_before_the_checks_have_passed(
    tools: ToolClient, signed_out: SessionOf, company: Policy, effects: Effects
) -> None:
    operation = tools.ask()
    assert not tools.approve(operation).is_error
    company.asked.clear()
    company.decline = lambda operation, approval: Decline("Never.")

    assert not tools.approve(operation).is_error  # Check 2: the replay.
    two = {"sku": "jacket", "quantity": 2}
    other = tools.ask(arguments=two)
    with pytest.raises(MCPError, match="has to be signed in"):  # Check 1: the challenge.
        replace(tools, session=signed_out).approve(other, arguments=two)
    assert operation_in(tools.approve(other))  # Check 3: the operation.
    assert company.asked == []
    assert tools.approve(other, arguments=two).is_error
    assert len(company.asked) == len(effects()) == 1


@pytest.mark.requirement("OPS-7-15", "OPS-6-13")
def test_a_decline_is_no_failure(
    tools: ToolClient, company: Policy, caplog: pytest.LogCaptureFixture
) -> None:
    company.decline = lambda operation, approval: Decline("Not today.")
    operation = tools.ask()
    tools.call(approval_of(operation, input_type="tap", reference="apr_1"))

    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    ((handed, statement),) = company.asked
    assert handed.terms["sku"] == "jacket"
    assert (statement.approver, statement.input_type, statement.reference) == (
        "user",
        "tap",
        "apr_1",
    )
