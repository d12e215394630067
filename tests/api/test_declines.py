"""Declines at the API: what they say, and that they are remembered (6)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from poppy_operations import Decline
from poppy_operations.models import Approval, Operation
from poppy_operations.models import Decline as DeclineRow
from tests.agents import ORDER, ApiClient, approval_of, operation_in
from tests.configuring import configure
from tests.shop.orders import by_hand, judged

pytestmark = pytest.mark.usefixtures("transactions")
Effects = Callable[[], list[str]]
ALTERNATIVE = {
    "instructions": "Call us.",
    "references": [{"type": "web", "url": "https://shop.example/call"}],
}


@pytest.fixture
def judge() -> Iterator[list[Decline | None]]:
    """What the action's hook answers next; what is left over it answers for ever."""
    answers: list[Decline | None] = [None]

    @judged.decline
    def hook(operation: Any, approval: Any) -> Decline | None:
        asked.append((operation, approval))
        return answers[0]

    asked: list[Any] = []
    hook.asked = asked  # type: ignore[attr-defined]
    yield answers
    judged.decline_hook = None


@pytest.mark.requirement(
    "OPS-1-04", "OPS-6-74", "OPS-6-76", "OPS-6-77", "OPS-6-78", "OPS-6-79", "OPS-6-84", "OPS-8.1-05"
)
def test_an_agents_approval_of_what_only_users_may_approve_is_declined(
    agents_api: ApiClient, effects: Effects
) -> None:
    agents_api.path = "/api/by-hand/"
    assert by_hand.approvers == ("user",)
    operation = agents_api.ask()
    answer = agents_api.approve(operation, "agent")

    assert answer.status_code == 403
    assert answer["Content-Type"] == "application/json"
    assert "WWW-Authenticate" not in answer
    assert answer.json() == {
        "error": "approval_declined",
        "operation_id": operation["operation_id"],
        "revision": operation["revision"],
    }
    assert effects() == []
    assert DeclineRow.objects.get().rule == "approvers"  # as operators read it
    assert agents_api.approve(operation, "user").status_code == 201
    assert effects() == ["api.by_hand 1 jacket"]


@pytest.mark.requirement("OPS-6-80", "OPS-6-81")
@pytest.mark.parametrize("reason", [None, "Not today."])
@pytest.mark.parametrize("alternative", [None, ALTERNATIVE])
def test_a_decline_has_a_reason_and_an_alternative_where_the_site_gives_them(
    reason: str | None,
    alternative: Any,
    agents_api: ApiClient,
    judge: list[Decline | None],
    effects: Effects,
) -> None:
    agents_api.path = "/api/judged/"
    judge[0] = Decline(reason, alternative, rule="over the limit")
    operation = agents_api.ask()
    members = agents_api.approve(operation).json()

    assert members.get("reason") == reason
    assert members.get("alternative") == alternative
    assert ("reason" in members, "alternative" in members) == (
        reason is not None,
        alternative is not None,
    )
    assert "over the limit" not in str(members)
    assert DeclineRow.objects.get().rule == "over the limit"
    assert effects() == []


@pytest.mark.requirement("OPS-6-90", "OPS-7-14")
@pytest.mark.ambiguity("AMB-23")
def test_amb_23_a_declined_approval_is_declined_again_though_the_policy_has_changed(
    agents_api: ApiClient, judge: list[Decline | None], effects: Effects
) -> None:
    agents_api.path = "/api/judged/"
    judge[0] = Decline("Not today.", ALTERNATIVE)
    operation = agents_api.ask()
    first = agents_api.approve(operation, "agent")
    judge[0] = None
    again = agents_api.approve(operation, "agent")

    assert (again.status_code, again.content) == (403, first.content)
    assert DeclineRow.objects.count() == 1
    assert not Approval.objects.exists()
    assert Operation.objects.get().state == Operation.State.OPEN
    assert agents_api.approve(operation, "user").status_code == 201
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-6-75")
def test_nobody_is_asked_to_decline_before_the_checks_have_passed(
    agents_api: ApiClient, signed_out_api: ApiClient, judge: list[Decline | None], effects: Effects
) -> None:
    agents_api.path = signed_out_api.path = "/api/judged/"
    operation = agents_api.ask()
    assert agents_api.approve(operation).status_code == 201
    asked = judged.decline_hook.asked  # type: ignore[union-attr]
    asked.clear()
    judge[0] = Decline("Never.")

    assert agents_api.approve(operation).status_code == 201  # Check 2: the replay.
    other = agents_api.ask()
    assert signed_out_api.approve(other).status_code == 401  # Check 1: the challenge.
    two = {**ORDER, "quantity": 2}
    assert operation_in(agents_api.approve(other, body=two))  # Check 3: the operation.
    assert asked == []
    assert agents_api.approve(other).json()["error"] == "approval_declined"
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-7-15", "OPS-6-13")
def test_a_decline_is_no_failure(
    agents_api: ApiClient, judge: list[Decline | None], caplog: pytest.LogCaptureFixture
) -> None:
    agents_api.path = "/api/judged/"
    judge[0] = Decline("Not today.")
    operation = agents_api.ask()
    agents_api.send(approval_of(operation, input_type="tap", reference="apr_1"))

    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
    ((handed, statement),) = judged.decline_hook.asked  # type: ignore[union-attr]
    assert handed.terms["sku"] == "jacket"
    assert (statement.approver, statement.input_type, statement.reference) == (
        "user",
        "tap",
        "apr_1",
    )


def test_the_company_may_decline_approvals_of_any_action(
    agents_api: ApiClient, settings: Any, effects: Effects
) -> None:
    configure(settings, COMPANY="tests.shop.company.Strict")
    operation = agents_api.ask()
    assert agents_api.approve(operation, "agent").json()["reason"] == "Not by agents."
    assert effects() == []
    assert agents_api.approve(operation).status_code == 201
