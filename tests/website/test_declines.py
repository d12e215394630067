"""Declines: where the approval arrives, remembered, never recorded."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from poppy_operations.declarations.current import CurrentOperation
from poppy_operations.declarations.outcomes import Decline
from poppy_operations.lifecycle import approving
from poppy_operations.models import Approval, Operation
from poppy_operations.models import Decline as DeclineRow
from poppy_operations.protocol.approval import ApprovalStatement
from poppy_operations.signals import approval_declined
from tests.agents import SessionOf, approval_of
from tests.asking import (
    NEVER_RETURNED,
    ORDER,
    TWO,
    answer,
    ask,
    error,
    is_refused_with,
    price,
    quiet,
    recorded,
)
from tests.clock import Clock
from tests.shop import pages as extra
from tests.shop.company import Policy
from tests.shop.models import Item
from tests.shop.operations import Behaviour, SoldOut

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]
ALTERNATIVE = {
    "instructions": "The account holder can do it in the app.",
    "references": [{"type": "web", "url": "https://example.com/account/close"}],
}


@pytest.fixture
def hook() -> Iterator[Callable[[Any], None]]:
    """Set the policy of one action."""

    def decide(policy: Any) -> None:
        extra.hooked.decline_hook = policy

    yield decide
    extra.hooked.decline_hook = None


def never(operation: CurrentOperation, approval: ApprovalStatement) -> Decline:
    """Decline everything."""
    return Decline(reason="Not today.", alternative=ALTERNATIVE, rule="secret-rule-7")


def agents_never(operation: CurrentOperation, approval: ApprovalStatement) -> Decline | None:
    """Decline what no User approved."""
    return Decline() if approval.approver == "agent" else None


def is_nothing_done(effects: list[str]) -> bool:
    """Whether no action was performed, nor any begun, nor any approval recorded."""
    begun = Operation.objects.exclude(state=Operation.State.OPEN)
    return effects == [] and not begun.exists() and not Approval.objects.exists()


@pytest.mark.requirement(
    "OPS-1-04", "OPS-6-76", "OPS-6-77", "OPS-6-78", "OPS-6-79", "OPS-6-80", "OPS-6-81", "OPS-6-83",
    "OPS-6-84", "OPS-6-88", "OPS-6-89", "OPS-7-15",
)  # fmt: skip
def test_a_decline_says_which_approval_and_why_and_what_else_and_no_more(
    signed_out: SessionOf,
    jacket: Item,
    effects: Effects,
    hook: Callable[[Any], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    hook(never)
    browser = signed_out.browser()
    ref = ask(browser, "/hooked/")
    operation = signed_out.look_up(ref)
    approval = approval_of(operation)
    with caplog.at_level(logging.ERROR):
        response = signed_out.endpoint(ref, approval)
    assert caplog.records == []
    assert (response.status_code, response["Content-Type"]) == (403, "application/json")
    assert "WWW-Authenticate" not in response
    assert "Poppy-Operation" not in response
    assert response.json() == {
        "error": "approval_declined",
        "operation_id": approval["operation_id"],
        "revision": approval["revision"],
        "reason": "Not today.",
        "alternative": ALTERNATIVE,
    }
    assert is_nothing_done(effects())
    assert is_refused_with(signed_out.endpoint(ref), operation)
    refused = browser.post("/hooked/", ORDER)
    assert refused.status_code == 403
    assert "approval_declined" not in refused.content.decode()
    assert ask(browser, "/hooked/") == ref
    assert is_nothing_done(effects())


def test_a_policy_is_asked_with_the_operation_as_it_would_be_performed(
    signed_out: SessionOf, jacket: Item, hook: Callable[[Any], None]
) -> None:
    asked: list[tuple[CurrentOperation, ApprovalStatement]] = []
    hook(lambda operation, approval: asked.append((operation, approval)))
    ref = ask(signed_out.browser(), "/hooked/")
    returned = signed_out.look_up(ref)
    assert signed_out.endpoint(ref, approval_of(returned)).status_code == 204

    ((operation, approval),) = asked
    assert operation.approval == approval
    assert (operation.operation_id, operation.revision) == (
        returned["operation_id"],
        returned["revision"],
    )
    assert operation.owner == Operation.objects.get().owner
    assert (dict(operation.terms), operation.summary) == (returned["terms"], returned["summary"])


@pytest.mark.requirement("OPS-6-80", "OPS-6-81", "OPS-6-84", "OPS-8.1-05")
@pytest.mark.parametrize("path", ["/careful/", "/hooked/"])
def test_a_decline_without_reasons_has_no_such_members(
    path: str, signed_out: SessionOf, jacket: Item, hook: Callable[[Any], None], effects: Effects
) -> None:
    hook(agents_never)
    ref = ask(signed_out.browser(), path)
    approval = approval_of(signed_out.look_up(ref), "agent")
    response = signed_out.endpoint(ref, approval)
    assert response.status_code == 403
    assert response.json() == {
        "error": "approval_declined",
        "operation_id": approval["operation_id"],
        "revision": approval["revision"],
    }
    assert is_nothing_done(effects())


@pytest.mark.requirement("OPS-6-74", "OPS-8.1-05", "OPS-5-01")
@pytest.mark.parametrize("path", ["/careful/", "/hooked/"])
def test_a_user_approval_is_taken_where_an_agents_is_declined(
    path: str, signed_out: SessionOf, jacket: Item, hook: Callable[[Any], None], effects: Effects
) -> None:
    hook(agents_never)
    browser = signed_out.browser()
    ref = ask(browser, path)
    approval = approval_of(signed_out.look_up(ref), "agent")
    assert error(signed_out.endpoint(ref, approval)) == (403, "approval_declined")
    signed_out.approve(ref)
    # The agent's one stays declined beside it, and the User's one stays good.
    assert error(signed_out.endpoint(ref, approval)) == (403, "approval_declined")
    assert signed_out.status(ref) == "approved"
    assert browser.post(path, ORDER).status_code == 302
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-6-13", "OPS-6-74")
def test_the_company_is_asked_after_the_actions_own_policy(
    signed_out: SessionOf, jacket: Item, hook: Callable[[Any], None], company: Policy
) -> None:
    hook(agents_never)
    company.decline = lambda operation, approval: Decline(reason="The Company says no.")
    browser = signed_out.browser()
    ref = ask(browser, "/hooked/")
    operation = signed_out.look_up(ref)
    assert "reason" not in signed_out.endpoint(ref, approval_of(operation, "agent")).json()
    assert company.asked == []
    stated = {"approved_at": 1791487260, "input_type": "tap", "reference": "apr_1"}
    response = signed_out.endpoint(ref, approval_of(operation, **stated))
    assert response.json()["reason"] == "The Company says no."
    [(current, approval)] = company.asked
    assert current.operation_id == operation["operation_id"]
    assert current.revision == operation["revision"]
    assert current.action == "website.hooked"
    assert dict(current.terms) == operation["terms"]
    assert current.owner is not None
    assert (current.owner.client_id, current.owner.user_id) == (signed_out.agent.client_id, "u1")
    assert (approval.approver, approval.approved_at, approval.input_type, approval.reference) == (
        "user",
        1791487260,
        "tap",
        "apr_1",
    )
    with pytest.raises(TypeError):
        current.terms["total"] = "0"  # type: ignore[index]  # that is the point


@pytest.mark.requirement("OPS-6-75", "OPS-6-40")
def test_policies_are_asked_only_once_the_checks_have_passed(
    anybody: Callable[..., SessionOf], jacket: Item, company: Policy, effects: Effects, clock: Clock
) -> None:
    owner, stranger = anybody(), anybody(user_id="u2")
    browser = owner.browser()
    performed, used = recorded(owner, browser)
    browser.post("/buy/", ORDER)
    ref = ask(browser, "/buy/", TWO)
    operation = owner.look_up(ref)
    company.asked.clear()
    company.decline = never
    approval = approval_of(operation)
    assert owner.endpoint(performed, used).status_code == 204
    assert stranger.endpoint(ref, approval).status_code == 400
    assert is_refused_with(owner.endpoint(ref, {**approval, "revision": NEVER_RETURNED}), operation)
    assert is_refused_with(owner.endpoint(ref, used), operation)
    clock.at(minutes=16)
    assert owner.endpoint(ref, approval).status_code == 400
    assert company.asked == []
    assert not DeclineRow.objects.exists()


@pytest.mark.requirement("OPS-6-90")
@pytest.mark.ambiguity("AMB-23")
def test_amb_23_a_decline_is_remembered_until_the_revision_expires(
    signed_out: SessionOf, jacket: Item, company: Policy, clock: Clock, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    approval = approval_of(signed_out.look_up(ref), "agent")
    company.decline = never
    first = answer(signed_out.endpoint(ref, approval))
    company.decline = lambda operation, approval: None
    clock.at(minutes=15)
    assert answer(signed_out.endpoint(ref, {**approval, "reference": "other"})) == first
    assert DeclineRow.objects.count() == 1
    assert len(company.asked) == 1
    assert is_nothing_done(effects())
    clock.at(minutes=15, seconds=1)
    assert error(signed_out.endpoint(ref, approval)) == (400, "invalid_request")


@pytest.mark.requirement("OPS-6-90")
@pytest.mark.ambiguity("AMB-23")
def test_amb_23_a_decline_is_remembered_at_every_reference_of_its_operation(
    signed_out: SessionOf, jacket: Item, company: Policy, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    approval = approval_of(signed_out.look_up(ref), "agent")
    price("75.00")
    later = ask(browser)
    company.decline = never
    first = answer(signed_out.endpoint(ref, approval))
    company.decline = lambda operation, approval: None
    assert answer(signed_out.endpoint(later, approval)) == first
    assert len(company.asked) == 1
    assert is_nothing_done(effects())
    # The User's own approval of the same revision is another one.
    assert signed_out.endpoint(later, {**approval, "approver": "user"}).status_code == 204


@pytest.mark.requirement("OPS-6-90", "OPS-7-14")
@pytest.mark.ambiguity("AMB-23")
def test_amb_23_a_user_approval_after_a_declined_agent_approval_is_judged_afresh(
    signed_out: SessionOf, jacket: Item, company: Policy, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    operation = signed_out.look_up(ref)
    company.decline = never
    assert signed_out.endpoint(ref, approval_of(operation, "agent")).status_code == 403
    assert error(signed_out.endpoint(ref, approval_of(operation))) == (403, "approval_declined")
    company.decline = lambda operation, approval: None
    assert error(signed_out.endpoint(ref, approval_of(operation))) == (403, "approval_declined")
    assert {row.approver for row in DeclineRow.objects.all()} == {"agent", "user"}
    # A new revision of the same operation is another matter.
    price("75.00")
    later = ask(browser)
    assert signed_out.look_up(later)["operation_id"] == operation["operation_id"]
    signed_out.approve(later)
    assert browser.post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-6-88")
@pytest.mark.ambiguity("AMB-33")
def test_amb_33_a_policy_that_changes_after_the_approval_does_not_decline_the_browser(
    signed_out: SessionOf, jacket: Item, company: Policy, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref, approval = recorded(signed_out, browser)
    company.decline = never
    asked = len(company.asked)
    assert signed_out.endpoint(ref, approval).status_code == 204
    assert browser.post("/buy/", ORDER).status_code == 302
    assert len(company.asked) == asked
    assert len(effects()) == 1


@pytest.mark.ambiguity("AMB-12", "AMB-33")
def test_amb_12_amb_33_another_revision_is_declined_while_the_first_one_is_performing(
    signed_out: SessionOf, jacket: Item, site: Behaviour, company: Policy, effects: Effects
) -> None:
    browser = signed_out.browser(quiet())
    ref, _ = recorded(signed_out, browser, "/refund/")
    price("75.00")
    later = ask(browser, "/refund/")
    other = approval_of(signed_out.look_up(later), "agent")
    price("70.00")
    seen: list[Any] = []

    def meanwhile(_: Any) -> None:
        site.before_effect = lambda _: None
        company.decline = never
        seen.append(signed_out.endpoint(later, other))
        seen.append(signed_out.endpoint(later, other))
        raise SoldOut

    site.before_effect = meanwhile
    browser.post("/refund/", ORDER)
    assert [error(response) for response in seen] == [(403, "approval_declined")] * 2
    # The run goes on undisturbed, and the declined one is not performed after it.
    assert signed_out.status(ref) == "approved"
    price("75.00")
    assert ask(browser, "/refund/") == later
    assert effects() == []
    price("70.00")
    assert browser.post("/refund/", ORDER).status_code == 302
    assert len(effects()) == 1


# Two approvals at once, one of which is declined


def test_an_approval_that_is_declined_while_it_is_recorded_is_not_performed(
    signed_out: SessionOf, jacket: Item, company: Policy, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    operation = signed_out.look_up(ref)
    approval = approval_of(operation)

    def at_once(current: CurrentOperation, statement: ApprovalStatement) -> Decline:
        company.decline = lambda operation, approval: None
        assert signed_out.endpoint(ref, approval).status_code == 204
        return Decline(reason="Over the limit.")

    company.decline = at_once
    declined = signed_out.endpoint(ref, approval)
    assert error(declined) == (403, "approval_declined")
    # The User was told that it was not performed, so the record of the other one is void.
    assert ask(browser) != ref
    assert effects() == []
    assert answer(signed_out.endpoint(ref, approval)) == answer(declined)
    price("75.00")
    for other in (ref, ask(browser)):
        by_agent = signed_out.endpoint(other, {**approval, "approver": "agent"})
        assert error(by_agent) == (400, "invalid_request")


def test_an_approval_that_is_performed_while_it_is_declined_counts_as_taken(
    signed_out: SessionOf, jacket: Item, company: Policy, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    approval = approval_of(signed_out.look_up(ref))

    def at_once(current: CurrentOperation, statement: ApprovalStatement) -> Decline:
        company.decline = lambda operation, approval: None
        assert signed_out.endpoint(ref, approval).status_code == 204
        assert browser.post("/buy/", ORDER).status_code == 302
        return Decline(reason="Over the limit.")

    company.decline = at_once
    assert signed_out.endpoint(ref, approval).status_code == 204
    assert not DeclineRow.objects.exists()
    assert len(effects()) == 1


def test_a_browsers_request_that_read_the_record_before_the_decline_does_not_perform_it(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref, approval = recorded(signed_out, browser)

    def declined_meanwhile(request: Any) -> None:
        site.terms_answer = lambda request: None
        row = Approval.objects.get()
        statement = ApprovalStatement(approval["operation_id"], approval["revision"], "user")
        decision = Decline(rule="late")
        assert approving.decline(
            statement, row.revision, decision, sid="ses_1", now=row.received_at
        )

    site.terms_answer = declined_meanwhile
    response = browser.post("/buy/", ORDER)
    assert response.status_code == 403
    assert effects() == []
    assert error(signed_out.endpoint(ref, approval)) == (403, "approval_declined")


def test_an_operation_that_moves_on_and_on_is_busy_and_nothing_is_recorded(
    signed_out: SessionOf, jacket: Item, company: Policy
) -> None:
    ref = ask(signed_out.browser())
    approval = approval_of(signed_out.look_up(ref))

    def moving_on(current: CurrentOperation, statement: ApprovalStatement) -> Decline:
        Operation.objects.update(attempt=f"{len(company.asked):032x}")
        return Decline()

    company.decline = moving_on
    response = signed_out.endpoint(ref, approval)
    assert error(response) == (503, "temporarily_unavailable")
    assert response["Retry-After"] == "1"
    assert not Approval.objects.exists()
    assert not DeclineRow.objects.exists()


# What stays with the Company


@pytest.mark.requirement("OPS-6-83")
def test_the_rule_stays_with_the_company(
    signed_out: SessionOf, jacket: Item, company: Policy
) -> None:
    company.decline = never
    told: list[str] = []

    def receiver(decline: DeclineRow, **_: Any) -> None:
        told.append(decline.rule)

    approval_declined.connect(receiver)
    try:
        ref = ask(signed_out.browser())
        response = signed_out.endpoint(ref, approval_of(signed_out.look_up(ref)))
    finally:
        approval_declined.disconnect(receiver)
    assert "secret-rule-7" not in json.dumps([response.json(), dict(response.headers)])
    assert told == ["secret-rule-7"]
    row = DeclineRow.objects.get()
    assert (row.approver, row.sid, row.reason) == ("user", "ses_1", "Not today.")


@pytest.mark.parametrize("said", [True, False, "No.", 0])
@pytest.mark.parametrize("path", ["/buy/", "/hooked/"])
def test_a_policy_that_says_something_else_than_a_decline_lets_nothing_through(
    said: Any, path: str, signed_out: SessionOf, jacket: Item, company: Policy, hook: Any
) -> None:
    def policy(operation: Any, approval: Any) -> Any:
        return said

    if path == "/hooked/":
        hook(policy)
    else:
        company.decline = policy
    ref = ask(signed_out.browser(), path)
    with pytest.raises(TypeError, match=f"returns Decline or None, not {type(said).__name__}"):
        signed_out.endpoint(ref, approval_of(signed_out.look_up(ref)))
    assert not Approval.objects.exists()
    assert not DeclineRow.objects.exists()


def test_a_policy_that_fails_records_nothing_and_says_nothing_of_itself(
    signed_out: SessionOf, jacket: Item, company: Policy
) -> None:
    def fail(operation: Any, approval: Any) -> Decline:
        raise RuntimeError("risk score 0.93")

    company.decline = fail
    ref = ask(signed_out.browser())
    approval = approval_of(signed_out.look_up(ref))
    signed_out.client.raise_request_exception = False
    response = signed_out.endpoint(ref, approval)
    assert response.status_code == 500
    assert b"risk" not in response.content
    assert not Approval.objects.exists()
    assert not DeclineRow.objects.exists()
