"""Operations of the website are approved at the endpoint alone, by the agent alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from poppy_operations.models import Approval, Operation
from poppy_operations.protocol.structured import poppy_approval
from poppy_operations.sessions.agents import revoke_agent
from tests.agents import HOST, SessionOf, approval_of, reference
from tests.asking import (
    MADE_UP_REF,
    ORDER,
    TWO,
    ask,
    error,
    is_refused_with,
    recorded,
)
from tests.shop.models import Item

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]


def api_operation(session: SessionOf, approval: dict[str, Any] | None = None) -> Any:
    """Ask for the same action as an API: with the Session's header, and no browser."""
    return Client(headers={"host": HOST}).post("/buy/", ORDER, headers=session.headers(approval))


@pytest.mark.requirement("OPS-6-34", "OPS-6-54")
@pytest.mark.ambiguity("AMB-06", "AMB-37")
def test_amb_06_amb_37_an_operation_of_the_api_is_not_approved_at_the_endpoint(
    signed_out: SessionOf, jacket: Item, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    operation = signed_out.look_up(ref)
    foreign = api_operation(signed_out).json()["operation"]
    assert foreign["operation_id"] != operation["operation_id"]
    for approval in (
        approval_of(foreign),
        {**approval_of(operation), "revision": foreign["revision"]},
    ):
        assert is_refused_with(signed_out.endpoint(ref, approval), operation)
        assert error(signed_out.endpoint(MADE_UP_REF, approval)) == (400, "invalid_request")
    assert not Approval.objects.exists()
    assert browser.post("/buy/", ORDER).status_code == 403
    # Nor once the other one is performed: the answer is for the body's reference.
    assert api_operation(signed_out, approval_of(foreign)).status_code == 302
    assert is_refused_with(signed_out.endpoint(ref, approval_of(foreign)), operation)
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-4-02", "OPS-6-01", "OPS-6-32", "OPS-6-33")
@pytest.mark.ambiguity("AMB-06", "AMB-05")
@pytest.mark.parametrize("state", ["returned", "approved", "performed"])
def test_amb_06_amb_05_an_operation_of_the_website_is_not_approved_at_the_api(
    state: str, signed_out: SessionOf, jacket: Item, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    approval = approval_of(signed_out.look_up(ref))
    if state != "returned":
        signed_out.approve(ref)
    if state == "performed":
        browser.post("/buy/", ORDER)
    before, records = effects(), Approval.objects.count()
    response = api_operation(signed_out, approval)
    assert error(response) == (403, "approval_required")
    assert "Poppy-Operation" not in response
    own = response.json()["operation"]
    assert own["operation_id"] != approval["operation_id"]
    assert own["revision"] != approval["revision"]
    assert effects() == before
    assert Approval.objects.count() == records


# Neither cookies nor anything that a page can read


@pytest.mark.requirement(
    "OPS-6-43", "OPS-8.1-01", "OPS-8.2-01", "OPS-8.2-02", "OPS-8.2-03", "OPS-8.2-05"
)
@pytest.mark.parametrize("state", ["returned", "performed"])
def test_nothing_in_the_browser_can_approve_or_look_up(
    state: str, signed_in: SessionOf, jacket: Item
) -> None:
    browser = signed_in.browser()
    refused = browser.post("/buy/", ORDER)
    sid, ref = reference(refused)
    approval = approval_of(signed_in.look_up(ref))
    if state == "performed":
        signed_in.approve(ref)
        browser.post("/buy/", ORDER)
    header = {"Poppy-Approval": poppy_approval(approval)}
    token = {"Authorization": f"Bearer {signed_in.access_token}"}
    stranger = signed_in.agent.session_token(
        sid=sid, audience="https://shop.example", key=type(signed_in.agent)().session_key
    )
    csrf = {"X-CSRFToken": browser.cookies["csrftoken"].value}
    attempts: list[dict[str, str]] = [
        {},
        token,
        {"Poppy-Session": sid},
        {"Poppy-Session": sid, **token, **csrf},
        {"Poppy-Session": stranger},
        {"Poppy-Session": stranger, **token},
        {"Poppy-Extensions": '"operations";v="3"', "Poppy-Version": "1.0", **csrf},
        {"Poppy-Operation": refused["Poppy-Operation"], **token},
    ]
    for client in (browser, Client(headers={"host": HOST})):
        for attempt in attempts:
            for headers in (attempt, {**attempt, **header}):
                response = client.post(
                    "/poppy/operations",
                    data={"ref": ref},
                    content_type="application/json",
                    headers=headers,
                )
                assert error(response) == (403, "invalid_session"), attempt
                assert set(response.json()) == {"error"}
    assert Approval.objects.count() == (state == "performed")


@pytest.mark.requirement("OPS-6-44", "OPS-8.1-01")
@pytest.mark.parametrize("state", ["returned", "performed"])
def test_a_bad_token_is_refused_before_anything_else(
    state: str, signed_in: SessionOf, jacket: Item
) -> None:
    browser = signed_in.browser()
    ref = ask(browser)
    approval = approval_of(signed_in.look_up(ref))
    if state == "performed":
        signed_in.approve(ref)
        browser.post("/buy/", ORDER)
    expired = signed_in.issuer.access_token(
        signed_in.account or "", client_id=signed_in.agent.client_id, lifetime=-60
    )
    response = signed_in.endpoint(ref, approval, access_token=expired)
    assert (response.status_code, response.json()) == (401, {"error": "invalid_token"})
    assert Approval.objects.count() == (state == "performed")


@pytest.mark.requirement("OPS-8.1-03")
def test_a_revoked_agent_gets_nothing_more(
    signed_in: SessionOf, jacket: Item, effects: Effects
) -> None:
    browser = signed_in.browser()
    pending = ask(browser, "/buy/", TWO)
    waiting, approval = recorded(signed_in, browser)
    performed, used = recorded(signed_in, browser, "/refund/")
    browser.post("/refund/", ORDER)
    asked_for = approval_of(signed_in.look_up(pending))
    revoke_agent(signed_in.agent.client_id)
    for ref, sent in ((pending, asked_for), (waiting, approval), (performed, used)):
        assert error(signed_in.endpoint(ref)) == (403, "invalid_session")
        assert error(signed_in.endpoint(ref, sent)) == (403, "invalid_session")
    response = browser.post("/buy/", ORDER)
    assert response.status_code == 403
    assert "Poppy-Operation" not in response
    assert effects() == ["shop.refund 1 jacket"]
    assert Operation.objects.filter(state=Operation.State.PERFORMED).count() == 1
