"""Whatever else fails as well, the endpoint's answer is that of the first check that fails (6)."""

from __future__ import annotations

from typing import Any

import pytest

from poppy_operations.models import Approval
from tests.agents import ORDER, SessionOf, approval_of
from tests.asking import MADE_UP_REF, NEVER_RETURNED, ask, error
from tests.shop.models import Item

pytestmark = pytest.mark.django_db

MALFORMED = {"Poppy-Approval": 'operation_id="op_1", approver="robot"'}
EVERY_STATE = pytest.mark.parametrize("state", ["returned", "approved", "performed"])


def asked(session: SessionOf, state: str) -> str:
    """The reference of an operation in that state."""
    browser = session.browser()
    ref = ask(browser)
    if state != "returned":
        session.approve(ref)
    if state == "performed":
        assert browser.post("/buy/", ORDER).status_code == 302
    return ref


def send(session: SessionOf, ref: object, headers: dict[str, str], **options: Any) -> Any:
    return session.client.post(
        "/poppy/operations",
        data={"ref": ref},
        content_type="application/json",
        headers={**session.headers(**options), **headers},
    )


@pytest.mark.requirement("OPS-4-41", "OPS-6-43", "OPS-6-45")
@EVERY_STATE
def test_a_bad_session_comes_before_the_approval_and_the_reference(
    state: str, signed_in: SessionOf, jacket: Item
) -> None:
    bad = {"Poppy-Session": "not.a.jwt"}
    for ref in (asked(signed_in, state), MADE_UP_REF, "no reference", 7):
        for headers in (bad, {**bad, **MALFORMED}):
            assert error(send(signed_in, ref, headers)) == (403, "invalid_session")


@pytest.mark.requirement("OPS-4-42", "OPS-6-44", "OPS-6-45")
@EVERY_STATE
def test_a_bad_token_comes_before_the_approval_and_the_reference(
    state: str, signed_in: SessionOf, jacket: Item
) -> None:
    account, client_id = signed_in.account or "", signed_in.agent.client_id
    expired = signed_in.issuer.access_token(account, client_id=client_id, lifetime=-60)
    foreign = signed_in.issuer.access_token(account, client_id="https://other.example/")
    for ref in (asked(signed_in, state), MADE_UP_REF, "no reference"):
        for token in (expired, foreign):
            for headers in ({}, MALFORMED):
                response = send(signed_in, ref, headers, access_token=token)
                assert error(response) == (401, "invalid_token")


@pytest.mark.requirement("OPS-6-41", "OPS-6-45")
def test_that_it_was_performed_comes_before_whether_the_approval_fits(
    signed_in: SessionOf, jacket: Item
) -> None:
    ref = asked(signed_in, "returned")
    approval = approval_of(signed_in.look_up(ref))
    never = {**approval, "revision": NEVER_RETURNED}
    assert signed_in.endpoint(ref, never).status_code == 403
    assert signed_in.endpoint(ref, approval).status_code == 204
    assert signed_in.browser().post("/buy/", ORDER).status_code == 302

    assert signed_in.endpoint(ref, never).status_code == 204
    assert Approval.objects.count() == 1
