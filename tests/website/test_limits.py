"""Prices that cross the site's limit: what is approved already never happens by the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from poppy_operations.lifecycle.approving import void
from poppy_operations.models import Approval, Operation
from tests.agents import ORDER, SessionOf
from tests.asking import TWO, ask, error, price, recorded
from tests.clock import Clock
from tests.shop.operations import Behaviour

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.ambiguity("AMB-36"),
    pytest.mark.usefixtures("jacket"),
]
Effects = Callable[[], list[str]]
PATHS = ["/buy/", "/refund/", "/orders/o1/exchange/", "/each/"]
LIMIT, ABOVE, BELOW = 65, "70.00", "60.00"


@pytest.fixture
def browser(signed_in: SessionOf, site: Behaviour) -> Client:
    """A browser of the agent's, while the site has a limit that the price is above."""
    site.needed_from = LIMIT
    price(ABOVE)
    return signed_in.browser()


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_amb_36_an_approved_action_is_asked_for_again_at_a_price_that_needs_no_approval(
    path: str, signed_in: SessionOf, browser: Client, effects: Effects
) -> None:
    ref, approval = recorded(signed_in, browser, path)
    price(BELOW)
    cheaper = ask(browser, path)
    assert effects() == []
    assert signed_in.status(ref) == "approved"

    operation = signed_in.look_up(cheaper)
    assert operation["terms"]["total"]["amount"] == BELOW
    is_same = path != "/each/"
    assert (operation["operation_id"] == approval["operation_id"]) is is_same
    signed_in.approve(cheaper)
    assert browser.post(path, ORDER).status_code == 302
    assert len(effects()) == 1
    assert signed_in.status(cheaper) == "performed"
    assert signed_in.status(ref) == ("performed" if is_same else "approved")


@pytest.mark.parametrize("path", PATHS)
def test_amb_36_an_approval_that_waited_while_none_was_needed_is_used_up_once(
    path: str, signed_in: SessionOf, browser: Client, effects: Effects
) -> None:
    ref, _ = recorded(signed_in, browser, path)
    price(BELOW)
    ask(browser, path)
    price(ABOVE)
    assert browser.post(path, ORDER).status_code == 302
    assert signed_in.status(ref) == "performed"
    assert ask(browser, path)
    price(BELOW)
    # Nothing waits any more, so this is another action, which needs no approval.
    assert browser.post(path, ORDER).status_code == 302
    assert len(effects()) == 2


def test_amb_36_terms_that_fall_below_the_limit_within_the_run_do_not_free_it(
    signed_in: SessionOf, browser: Client, site: Behaviour, effects: Effects
) -> None:
    ref, _ = recorded(signed_in, browser)
    asked: list[Any] = []

    def falls(request: Any) -> None:
        asked.append(request)
        if len(asked) == 2:
            price(BELOW)

    site.terms_answer = falls
    cheaper = ask(browser)
    assert effects() == []
    assert signed_in.status(ref) == "approved"
    signed_in.approve(cheaper)
    price(BELOW)  # The fall was rolled back with the run.
    assert browser.post("/buy/", ORDER).status_code == 302
    assert signed_in.status(ref) == "performed"
    assert len(effects()) == 1


def test_amb_36_what_the_site_calls_the_same_action_is_gated_with_other_content_too(
    signed_in: SessionOf, browser: Client, effects: Effects
) -> None:
    ref, approval = recorded(signed_in, browser, "/orders/o1/exchange/", TWO)
    other = ask(browser, "/orders/o1/exchange/", ORDER)
    price("30.00")
    assert ask(browser, "/orders/o1/exchange/") != other
    assert signed_in.look_up(other)["operation_id"] == approval["operation_id"]
    assert signed_in.status(ref) == "approved"
    # Another order is another action.
    assert browser.post("/orders/o2/exchange/", ORDER).status_code == 302
    assert effects() == ["shop.exchange 1 jacket"]


def test_amb_36_what_only_waits_for_an_approval_frees_and_binds_nothing(
    signed_in: SessionOf, browser: Client, effects: Effects
) -> None:
    ref = ask(browser)
    price(BELOW)
    assert browser.post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 1
    assert signed_in.look_up(ref)


def test_amb_36_an_approval_that_expired_binds_no_longer(
    signed_in: SessionOf, browser: Client, clock: Clock, effects: Effects
) -> None:
    ref, _ = recorded(signed_in, browser)
    price(BELOW)
    clock.at(minutes=15)
    assert ask(browser)
    clock.at(minutes=15, seconds=1)
    assert browser.post("/buy/", ORDER).status_code == 302
    assert error(signed_in.endpoint(ref)) == (400, "invalid_request")
    assert len(effects()) == 1


def test_amb_36_an_approval_that_was_voided_binds_no_longer(
    signed_in: SessionOf, browser: Client, effects: Effects
) -> None:
    recorded(signed_in, browser)
    approval = Approval.objects.select_related("operation").get()
    assert void(approval, by="an operator", because="asked to", now=timezone.now())
    price(BELOW)
    assert browser.post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 1


def test_amb_36_an_approval_binds_neither_visitors_nor_other_users(
    signed_in: SessionOf, browser: Client, client: Client, effects: Effects
) -> None:
    ref, _ = recorded(signed_in, browser)
    price(BELOW)
    other = SessionOf(signed_in.agent, signed_in.issuer, user_id="u2", account=signed_in.account)
    for free in (client, other.browser()):
        assert free.post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 2
    assert signed_in.status(ref) == "approved"


def test_amb_36_a_session_that_may_get_no_operation_is_refused_what_is_approved(
    signed_in: SessionOf, browser: Client, effects: Effects
) -> None:
    recorded(signed_in, browser)
    price(BELOW)
    undeclared = SessionOf(
        signed_in.agent, signed_in.issuer, account=signed_in.account, declared=False
    )
    refused = undeclared.browser().post("/buy/", ORDER)
    assert refused.status_code == 403
    assert "Poppy-Operation" not in refused
    assert effects() == []


def test_amb_36_an_action_of_its_own_is_not_performed_beside_the_same_content_under_way(
    signed_in: SessionOf, browser: Client, site: Behaviour, effects: Effects
) -> None:
    ref, _ = recorded(signed_in, browser, "/each/")
    Operation.objects.update(state="performing", effects="external", lease_until=timezone.now())
    price(BELOW)
    assert ask(browser, "/each/", {**ORDER, "quantity": "01"}) != ref
    assert browser.post("/each/", TWO).status_code == 403  # Above the limit.
    price("30.00")
    assert browser.post("/each/", TWO).status_code == 302
    assert effects() == ["shop.each 2 jacket"]
