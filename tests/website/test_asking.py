"""Asking: which operation a request gets, again or anew, and what gives way to what."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from poppy_operations.models import Approval, Operation, Revision
from tests.agents import ORDER, SessionOf
from tests.asking import TWO, ask, error, price, recorded
from tests.clock import Clock
from tests.configuring import configure
from tests.shop.models import Item
from tests.shop.operations import Behaviour
from tests.shop.pages import Strange

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]
EXCHANGE = "/orders/o1/exchange/"


@pytest.fixture
def few(settings: Any) -> int:
    """A small cap on revisions that wait for an approval."""
    configure(settings, OPEN_REVISIONS=3)
    return 3


def quantity(number: int) -> dict[str, str]:
    """An order of so many."""
    return {**ORDER, "quantity": str(number)}


# One action, one operation


@pytest.mark.requirement("OPS-3-04", "OPS-3-23")
@pytest.mark.ambiguity("AMB-18")
def test_amb_18_another_request_is_another_action_unless_the_site_says_otherwise(
    signed_in: SessionOf, jacket: Item
) -> None:
    browser = signed_in.browser()
    one, two = ask(browser), ask(browser, "/buy/", TWO)
    assert signed_in.look_up(one)["operation_id"] != signed_in.look_up(two)["operation_id"]
    first, second = ask(browser, EXCHANGE), ask(browser, EXCHANGE, TWO)
    small, large = signed_in.look_up(first), signed_in.look_up(second)
    assert small["operation_id"] == large["operation_id"]
    assert small["revision"] != large["revision"]
    other = signed_in.look_up(ask(browser, "/orders/o2/exchange/"))
    assert other["operation_id"] != small["operation_id"]


@pytest.mark.requirement("OPS-3-09", "OPS-3-10")
def test_the_same_terms_in_other_words_are_the_same_revision(
    signed_out: SessionOf, monkeypatch: Any, effects: Effects
) -> None:
    monkeypatch.setattr(Strange, "terms", {"room": 7})
    monkeypatch.setattr(Strange, "summary", "Room 7.")
    browser = signed_out.browser()
    ref = ask(browser, "/strange/")
    operation = signed_out.look_up(ref)
    monkeypatch.setattr(Strange, "summary", "Zimmer 7.")
    assert ask(browser, "/strange/") == ref
    assert signed_out.look_up(ref) == operation
    signed_out.approve(ref)
    monkeypatch.setattr(Strange, "summary", None)
    assert browser.post("/strange/", ORDER).status_code == 200
    assert effects() == [f"strange {operation['revision']}"]


@pytest.mark.requirement("OPS-3-08", "OPS-3-09")
def test_a_later_expiry_is_another_revision(
    signed_out: SessionOf, jacket: Item, clock: Clock
) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    first = signed_out.look_up(ref)
    clock.at(minutes=7, seconds=30)  # half of its lifetime is left
    assert ask(browser) == ref
    clock.at(minutes=7, seconds=31)
    second = signed_out.look_up(ask(browser))
    assert second["operation_id"] == first["operation_id"]
    assert second["terms"] == first["terms"]
    assert second["revision"] != first["revision"]
    expiries = [datetime.fromisoformat(seen["expires_at"]) for seen in (first, second)]
    assert expiries[1] - expiries[0] == timedelta(minutes=7, seconds=31)


def test_an_approval_of_the_earlier_revision_stays_good_after_the_later_one(
    signed_out: SessionOf, jacket: Item, clock: Clock, effects: Effects
) -> None:
    browser = signed_out.browser()
    early = ask(browser)
    clock.at(minutes=8)
    late = ask(browser)
    assert late != early
    signed_out.approve(early)
    assert browser.post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 1
    assert [signed_out.status(ref) for ref in (early, late)] == ["performed", "performed"]


@pytest.mark.requirement("OPS-3-29")
def test_a_revision_can_be_approved_for_as_long_as_its_action_says(
    signed_out: SessionOf, jacket: Item, clock: Clock
) -> None:
    browser = signed_out.browser()
    ask(browser)
    assert browser.post("/notes/", {"text": "a"}, "application/json").status_code == 403
    lifetimes = [row.expires_at - clock.start for row in Revision.objects.order_by("pk")]
    assert lifetimes == [timedelta(minutes=15), timedelta(days=3)]


@pytest.mark.requirement("OPS-3-08", "OPS-3-24", "OPS-5-02")
def test_a_price_there_and_back(signed_out: SessionOf, jacket: Item, effects: Effects) -> None:
    browser = signed_out.browser()
    ref, approval = recorded(signed_out, browser)
    price("75.00")
    dearer = ask(browser)
    assert dearer != ref
    assert ask(browser) == dearer
    price("70.00")
    again = browser.post("/buy/", ORDER)
    assert again.status_code == 302
    assert effects() == ["shop.buy 1 jacket"]
    assert signed_out.endpoint(dearer, {**approval}).status_code == 204
    assert Approval.objects.count() == 1


@pytest.mark.requirement("OPS-3-08", "OPS-3-09")
def test_a_price_there_and_back_without_an_approval_is_the_first_revision_again(
    signed_out: SessionOf, jacket: Item
) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    price("75.00")
    dearer = ask(browser)
    price("70.00")
    assert ask(browser) == ref
    price("75.00")
    assert ask(browser) == dearer
    assert Operation.objects.count() == 1
    assert Revision.objects.count() == 2


@pytest.mark.requirement("OPS-7-11", "OPS-7-19", "OPS-3-06")
def test_once_performed_the_same_request_is_a_new_action(
    signed_out: SessionOf, jacket: Item, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref, approval = recorded(signed_out, browser)
    browser.post("/buy/", ORDER)
    other = ask(browser)
    operation = signed_out.look_up(other)
    assert operation["operation_id"] != approval["operation_id"]
    assert len(effects()) == 1
    assert signed_out.status(ref) == "performed"
    signed_out.approve(other)
    browser.post("/buy/", ORDER)
    assert len(effects()) == 2


# Every ask an action of its own


@pytest.mark.requirement("OPS-6-58", "OPS-6-65", "OPS-6-67")
@pytest.mark.ambiguity("AMB-14")
def test_amb_14_of_two_equal_approvals_the_one_recorded_first_is_used_first_and_each_once(
    signed_out: SessionOf, jacket: Item, effects: Effects, clock: Clock
) -> None:
    browser = signed_out.browser()
    first, second = ask(browser, "/each/"), ask(browser, "/each/")
    ids = [signed_out.look_up(ref)["operation_id"] for ref in (first, second)]
    assert len(set(ids)) == 2
    clock.at(seconds=1)
    # The moment of recording counts, not what the agent states.
    signed_out.approve(second, approved_at=2_000_000_000)
    clock.at(seconds=2)
    signed_out.approve(first, approved_at=1)
    assert browser.post("/each/", ORDER).status_code == 302
    assert [signed_out.status(ref) for ref in (first, second)] == ["approved", "performed"]
    assert browser.post("/each/", ORDER).status_code == 302
    assert [signed_out.status(ref) for ref in (first, second)] == ["performed", "performed"]
    assert ask(browser, "/each/") not in (first, second)
    assert len(effects()) == 2


# What gives way


def test_at_the_cap_the_oldest_that_nobody_looked_up_gives_way(
    signed_out: SessionOf, jacket: Item, few: int, clock: Clock
) -> None:
    browser = signed_out.browser()
    seen, forgotten, kept = [ask(browser, "/buy/", quantity(number)) for number in (1, 2, 3)]
    signed_out.look_up(seen)
    newest = ask(browser, "/buy/", quantity(4))
    assert error(signed_out.endpoint(forgotten)) == (400, "invalid_request")
    for ref in (seen, kept, newest):
        assert signed_out.look_up(ref)
    # Its own request gets another reference, as an agent that finds it unknown makes it do; now
    # all were looked up, and there is no more room.
    response = browser.post("/buy/", quantity(2))
    assert response.status_code == 429
    assert response["Retry-After"] == "901"
    assert "Poppy-Operation" not in response


def test_when_all_were_looked_up_the_next_ask_has_to_wait(
    signed_out: SessionOf, jacket: Item, few: int, clock: Clock, effects: Effects
) -> None:
    browser = signed_out.browser()
    for number in range(1, few + 1):
        signed_out.look_up(ask(browser, "/buy/", quantity(number)))
    clock.at(minutes=5)
    response = browser.post("/buy/", quantity(9), headers={"Accept": "application/json"})
    assert error(response) == (429, "rate_limited")
    assert response["Retry-After"] == "601"
    assert "no-store" in response["Cache-Control"]
    # What was asked already is given again, and other Users have room of their own.
    assert ask(browser, "/buy/", quantity(1))
    other = SessionOf(signed_out.agent, signed_out.issuer, user_id="u2")
    assert ask(other.browser(), "/buy/", quantity(9))
    clock.at(minutes=15, seconds=1)
    assert ask(browser, "/buy/", quantity(9))


@pytest.mark.requirement("OPS-8.2-08")
def test_what_was_approved_takes_no_room(signed_out: SessionOf, jacket: Item, few: int) -> None:
    browser = signed_out.browser()
    refs = [ask(browser, "/buy/", quantity(number)) for number in (1, 2, 3)]
    for ref in refs:
        signed_out.look_up(ref)
    assert browser.post("/buy/", quantity(4)).status_code == 429
    signed_out.approve(refs[1])
    signed_out.look_up(ask(browser, "/buy/", quantity(4)))
    assert browser.post("/buy/", quantity(5)).status_code == 429


def test_what_expired_takes_no_room_not_even_in_the_slot_that_is_asked_for(
    signed_in: SessionOf, jacket: Item, few: int, clock: Clock
) -> None:
    browser = signed_in.browser()
    expired = ask(browser, EXCHANGE)
    signed_in.look_up(expired)
    clock.at(minutes=10)
    for order in ("o2", "o3"):
        signed_in.look_up(ask(browser, f"/orders/{order}/exchange/"))
    clock.at(minutes=16)
    operation = signed_in.look_up(ask(browser, EXCHANGE))
    first = Operation.objects.get(revisions__ref=expired)
    assert operation["operation_id"] == first.operation_id
    assert browser.post("/orders/o4/exchange/", ORDER).status_code == 429


@pytest.mark.slow
def test_a_flood_never_stands_in_the_way_of_what_was_approved(
    signed_out: SessionOf, jacket: Item, few: int, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref, _ = recorded(signed_out, browser, "/buy/", quantity(1))
    statuses = []
    for number in range(2, 20):
        response = browser.post("/buy/", quantity(number))
        statuses.append(response.status_code)
        if number < 10 and response.status_code == 403:
            refs = Revision.objects.filter(retired_at=None, looked_up_at=None)
            signed_out.look_up(refs.latest("pk").ref or "")
    assert {403, 429} == set(statuses)
    waiting = Revision.objects.filter(retired_at=None, record=None).count()
    assert waiting == few
    assert signed_out.status(ref) == "approved"
    assert browser.post("/buy/", quantity(1)).status_code == 302
    assert effects() == ["shop.buy 1 jacket"]


def test_other_content_in_the_same_slot_counts_like_any_other(
    signed_in: SessionOf, jacket: Item, few: int
) -> None:
    browser = signed_in.browser()
    refs = [ask(browser, EXCHANGE, quantity(number)) for number in range(1, 9)]
    assert Operation.objects.count() == 1
    assert Revision.objects.filter(retired_at=None).count() == few
    assert [signed_in.endpoint(ref).status_code for ref in refs] == [400] * 5 + [403] * 3


def test_what_gave_way_does_not_come_back(signed_out: SessionOf, jacket: Item, few: int) -> None:
    browser = signed_out.browser()
    first = ask(browser, "/buy/", quantity(1))
    for number in (2, 3, 4):
        ask(browser, "/buy/", quantity(number))
    again = ask(browser, "/buy/", quantity(1))
    assert again != first
    assert error(signed_out.endpoint(first)) == (400, "invalid_request")
    assert signed_out.look_up(again)


# Where no approval is needed this time


@pytest.mark.requirement("OPS-1-07")
@pytest.mark.ambiguity("AMB-36")
def test_amb_36_a_matching_record_is_used_though_none_is_needed_by_now(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref, _ = recorded(signed_out, browser)
    site.needed = False
    assert browser.post("/buy/", ORDER).status_code == 302
    assert signed_out.status(ref) == "performed"
    assert len(effects()) == 1
    # And without one it is performed as by anybody else.
    assert browser.post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 2
    assert Operation.objects.count() == 1


@pytest.mark.ambiguity("AMB-36")
def test_amb_36_what_is_performing_is_not_performed_beside_it_though_none_is_needed(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref, _ = recorded(signed_out, browser, "/refund/")
    seen: list[Any] = []

    def meanwhile(_: Any) -> None:
        site.before_effect = lambda _: None
        site.needed = False
        seen.append(browser.post("/refund/", ORDER))

    site.before_effect = meanwhile
    assert browser.post("/refund/", ORDER).status_code == 302
    assert seen[0].status_code == 403
    assert len(effects()) == 1
    assert signed_out.status(ref) == "performed"


@pytest.mark.ambiguity("AMB-36")
def test_amb_36_a_record_for_something_else_frees_nothing_and_binds_nothing(
    signed_out: SessionOf, jacket: Item, site: Behaviour, clock: Clock, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref, _ = recorded(signed_out, browser)
    site.needed = False
    assert browser.post("/buy/", TWO).status_code == 302
    assert effects() == ["shop.buy 2 jacket"]
    assert signed_out.status(ref) == "approved"
    clock.at(minutes=16)  # the record has expired
    assert browser.post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 2


@pytest.mark.requirement("OPS-1-07")
def test_an_amount_below_the_sites_limit_needs_no_approval(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects
) -> None:
    site.needed_from = 100
    browser = signed_out.browser()
    assert browser.post("/buy/", ORDER).status_code == 302
    assert ask(browser, "/buy/", TWO)
    assert effects() == ["shop.buy 1 jacket"]


def test_ids_and_references_have_the_characters_of_the_text(
    signed_out: SessionOf, jacket: Item
) -> None:
    ref = ask(signed_out.browser())
    operation = signed_out.look_up(ref)
    for value in (operation["operation_id"], operation["revision"], ref):
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", value)
    assert operation["operation_id"].startswith("buy_")
    epoch, _, _ = operation["revision"].partition("-")
    assert int(epoch) == datetime.fromisoformat(operation["expires_at"]).timestamp()


def test_asking_again_writes_nothing(signed_out: SessionOf, jacket: Item) -> None:
    browser = signed_out.browser()
    ask(browser)
    with CaptureQueriesContext(connection) as queries:
        ask(browser)
    writes = [query["sql"] for query in queries if not query["sql"].startswith("SELECT")]
    assert writes == []
