"""Unclear points of the text, decided: requests that meet each other, and runs that fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import cache
from django.db import OperationalError
from django.http import HttpResponse
from django.shortcuts import redirect
from django.test import Client

from poppy_operations.declarations.outcomes import NotPerformed
from poppy_operations.lifecycle import settling
from poppy_operations.models import Approval, Operation
from tests.agents import HOST, SessionOf, approval_of, reference
from tests.shop.models import Item
from tests.shop.operations import Behaviour, SoldOut
from tests.website.asking import ORDER, TWO, ask, is_refused_with, price, quiet, recorded
from tests.website.conftest import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.website.site")]
Effects = Callable[[], list[str]]


def time_out(_: Any) -> None:
    """The outside does not answer."""
    raise TimeoutError


# A request that meets another one


@pytest.mark.requirement("OPS-6-68", "OPS-7-18", "OPS-7-19")
@pytest.mark.ambiguity("AMB-13", "AMB-10")
def test_amb_13_amb_10_a_second_request_gets_a_further_reference_of_the_same_operation(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects
) -> None:
    browser, other = signed_out.browser(), signed_out.browser()
    ref, approval = recorded(signed_out, browser, "/refund/")
    called = site.terms_called
    seen: list[Any] = []

    def meanwhile(_: Any) -> None:
        called_before = site.terms_called
        seen.extend(other.post("/refund/", ORDER) for _ in range(3))
        seen.append(other.post("/refund/", ORDER, headers={"Accept": "application/json"}))
        assert site.terms_called == called_before
        further = reference(seen[0])[1]
        assert signed_out.status(further) == "performing"
        seen.append(further)

    site.before_effect = meanwhile
    assert browser.post("/refund/", ORDER).status_code == 302
    *responses, further = seen
    assert called < site.terms_called
    assert further != ref
    assert [reference(response) for response in responses] == [("ses_1", further)] * 4
    assert "already be under way" in responses[0].content.decode()
    assert len(effects()) == 1
    assert Operation.objects.count() == 1
    assert [signed_out.status(one) for one in (ref, further)] == ["performed", "performed"]
    # Only after that does a request start a new operation.
    site.before_effect = lambda _: None
    after = signed_out.look_up(ask(browser, "/refund/"))
    assert after["operation_id"] != approval["operation_id"]


@pytest.mark.requirement("OPS-6-61", "OPS-6-68")
@pytest.mark.ambiguity("AMB-13")
def test_amb_13_so_does_every_request_while_nobody_knows_the_outcome(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects, clock: Clock
) -> None:
    site.after_effect = time_out
    browser = signed_out.browser(quiet())
    ref, approval = recorded(signed_out, browser, "/refund/")
    first = ask(browser, "/refund/")
    assert first != ref
    assert ask(browser, "/refund/") == first
    # The site may say by now that it was done; nobody asks it, and nobody says that it failed.
    site.terms_answer = lambda request: HttpResponse("refunded already", status=409)
    assert ask(browser, "/refund/") == first
    clock.at(days=2)
    later = ask(signed_out.browser(quiet()), "/refund/")
    assert later != first
    for one in (ref, first, later):
        assert signed_out.status(one) == "performing"
        assert signed_out.endpoint(one, approval).status_code == 204
    assert len(effects()) == 1
    assert Operation.objects.count() == 1


@pytest.mark.ambiguity("AMB-13")
def test_amb_13_the_further_revision_can_be_approved_once_the_first_one_came_to_nothing(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects, clock: Clock
) -> None:
    site.before_effect = time_out
    browser = signed_out.browser(quiet())
    _, approval = recorded(signed_out, browser, "/refund/")
    clock.at(minutes=10)
    further = ask(browser, "/refund/")
    operation = Operation.objects.get()
    assert settling.settle(
        operation, None, how="settled", by="op", because="the bank says no", now=clock.start
    )
    clock.at(minutes=16)  # the first approval has expired
    again = signed_out.look_up(further)
    assert again["operation_id"] == approval["operation_id"]
    assert again["revision"] != approval["revision"]
    signed_out.approve(further)
    site.before_effect = lambda _: None
    assert browser.post("/refund/", ORDER).status_code == 302
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-1-06", "OPS-8.2-09", "OPS-6-67")
def test_ten_requests_that_overlap_perform_an_approval_once(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects
) -> None:
    browsers = [signed_out.browser() for _ in range(10)]
    ref, approval = recorded(signed_out, browsers[0])
    for _ in range(4):
        assert signed_out.endpoint(ref, approval).status_code == 204
    waiting = browsers[1:]
    answers: list[Any] = []

    def the_next_one_comes(request: Any) -> None:
        # Every request has found the approval by now, and none has begun.
        if waiting:
            answers.append(waiting.pop().post("/buy/", ORDER))

    site.terms_answer = the_next_one_comes
    answers.append(browsers[0].post("/buy/", ORDER))
    assert len(effects()) == 1
    assert sorted(response.status_code for response in answers) == [302] + [403] * 9
    new = {reference(response)[1] for response in answers if response.status_code == 403}
    assert len(new) == 1
    assert signed_out.look_up(new.pop())["operation_id"] != approval["operation_id"]
    assert signed_out.status(ref) == "performed"


@pytest.mark.requirement("OPS-6-58", "OPS-6-65")
@pytest.mark.ambiguity("AMB-14")
def test_amb_14_a_claim_that_another_request_has_is_followed_by_the_next_approval(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects, clock: Clock
) -> None:
    browser, other = signed_out.browser(), signed_out.browser()
    first, second = ask(browser, "/each/"), ask(browser, "/each/")
    for seconds, ref in enumerate((first, second)):
        clock.at(seconds=seconds)
        signed_out.approve(ref)

    def the_other_one_is_faster(request: Any) -> None:
        site.terms_answer = lambda request: None
        assert other.post("/each/", ORDER).status_code == 302
        assert [signed_out.status(ref) for ref in (first, second)] == ["performed", "approved"]

    site.terms_answer = the_other_one_is_faster
    assert browser.post("/each/", ORDER).status_code == 302
    assert [signed_out.status(ref) for ref in (first, second)] == ["performed", "performed"]
    assert len(effects()) == 2


@pytest.mark.requirement("OPS-3-26", "OPS-6-66", "OPS-1-06")
@pytest.mark.ambiguity("AMB-14")
@pytest.mark.parametrize("when", ["meanwhile", "after"])
def test_amb_14_two_approved_revisions_of_one_operation_are_performed_once(
    when: str, signed_in: SessionOf, jacket: Item, site: Behaviour, effects: Effects
) -> None:
    browser, other = signed_in.browser(), signed_in.browser()
    first, _ = recorded(signed_in, browser, "/refund/")
    price("75.00")
    second, approval = recorded(signed_in, browser, "/refund/")
    assert [signed_in.status(ref) for ref in (first, second)] == ["approved", "approved"]
    answers: list[Any] = []

    def the_other_one(_: Any) -> None:
        site.before_effect = lambda _: None
        price("70.00")
        answers.append(other.post("/refund/", ORDER))

    if when == "meanwhile":
        site.before_effect = the_other_one
        assert browser.post("/refund/", ORDER).status_code == 302
    else:
        assert browser.post("/refund/", ORDER).status_code == 302
        the_other_one(None)
    assert answers[0].status_code == 403
    assert effects() == ["shop.refund 1 jacket"]
    assert [signed_in.status(ref) for ref in (first, second)] == ["performed", "performed"]
    refused = reference(answers[0])[1]
    if when == "meanwhile":
        assert signed_in.status(refused) == "performed"
    else:
        assert signed_in.look_up(refused)["operation_id"] != approval["operation_id"]


# Terms that change on the way


@pytest.mark.requirement("OPS-3-19", "OPS-3-22")
def test_a_price_that_changes_between_the_checks_and_the_run_performs_nothing(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref, approval = recorded(signed_out, browser)
    dearer_at_the_second_look(site)
    response = browser.post("/buy/", ORDER)
    assert response.status_code == 403
    site.terms_answer = lambda request: None
    operation = signed_out.look_up(reference(response)[1])
    assert operation["operation_id"] == approval["operation_id"]
    assert operation["terms"]["total"]["amount"] == "75.00"
    assert effects() == []
    assert signed_out.status(ref) == "approved"
    price("70.00")
    assert browser.post("/buy/", ORDER).status_code == 302


@pytest.mark.requirement("OPS-6-57", "OPS-7-18")
def test_terms_that_changed_before_the_run_find_the_approval_that_they_have(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects
) -> None:
    browser = signed_out.browser()
    cheap, _ = recorded(signed_out, browser)
    price("75.00")
    dear, _ = recorded(signed_out, browser)
    price("70.00")
    dearer_at_the_second_look(site)
    # An approval that is not used and matches is never answered with a reference.
    assert browser.post("/buy/", ORDER).status_code == 302
    assert effects() == ["shop.buy 1 jacket"]
    performed = Operation.objects.get().performance.revision
    assert performed.ref == dear != cheap


def dearer_at_the_second_look(site: Behaviour) -> None:
    """Let the price change once the request has been checked."""
    looks: list[int] = []

    def look(request: Any) -> None:
        looks.append(1)
        if len(looks) >= 2:  # again, since what the run itself writes is taken back
            price("75.00")

    site.terms_answer = look


@pytest.mark.requirement("OPS-3-19")
def test_an_external_action_is_handed_the_approved_terms_whatever_changes(
    signed_out: SessionOf, jacket: Item, site: Behaviour
) -> None:
    browser = signed_out.browser()
    recorded(signed_out, browser, "/refund/")
    charged: list[str] = []

    def charge(operation: Any) -> None:
        price("75.00")
        charged.append(operation.terms["total"]["amount"])

    site.before_effect = charge
    assert browser.post("/refund/", ORDER).status_code == 302
    assert charged == ["70.00"]


# Runs that come to nothing


@pytest.mark.requirement("OPS-6-67", "OPS-7-17", "OPS-7-18")
@pytest.mark.ambiguity("AMB-15")
@pytest.mark.parametrize(
    "ending",
    [
        pytest.param(lambda _: HttpResponse("sold out", status=409), id="4xx"),
        pytest.param(lambda _: HttpResponse("sorry", status=500), id="5xx"),
        pytest.param(lambda _: redirect("/accounts/login/"), id="login"),
        pytest.param(lambda _: (_ for _ in ()).throw(RuntimeError), id="exception"),
        pytest.param(lambda _: (_ for _ in ()).throw(NotPerformed()), id="NotPerformed"),
        pytest.param(
            lambda _: (_ for _ in ()).throw(NotPerformed(redirect("/done/"))), id="redirect"
        ),
    ],
)
def test_amb_15_a_database_action_that_does_not_succeed_had_no_effect_and_stays_approved(
    ending: Any, signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects
) -> None:
    browser = signed_out.browser(quiet())
    ref, _ = recorded(signed_out, browser)
    site.answer = ending
    response = browser.post("/buy/", ORDER)
    assert "Poppy-Operation" not in response
    assert effects() == []
    assert signed_out.status(ref) == "approved"
    site.answer = lambda _: redirect("/done/")
    assert browser.post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 1
    assert signed_out.status(ref) == "performed"


@pytest.mark.requirement("OPS-6-67", "OPS-7-17")
@pytest.mark.ambiguity("AMB-15")
@pytest.mark.parametrize("raised", [NotPerformed(HttpResponse("no", status=409)), SoldOut()])
def test_amb_15_an_external_action_that_says_that_nothing_happened_stays_approved(
    raised: Exception, signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects
) -> None:
    def refuse(_: Any) -> None:
        raise raised

    browser = signed_out.browser(quiet())
    ref, _ = recorded(signed_out, browser, "/refund/")
    site.before_effect = refuse
    response = browser.post("/refund/", ORDER)
    assert response.status_code in {409, 500}
    assert "Poppy-Operation" not in response
    assert signed_out.status(ref) == "approved"
    site.before_effect = lambda _: None
    assert browser.post("/refund/", ORDER).status_code == 302
    assert len(effects()) == 1


@pytest.mark.ambiguity("AMB-15")
@pytest.mark.parametrize("status", [400, 403, 404, 409, 500, 503])
def test_amb_15_every_other_ending_of_an_external_action_is_unknown(
    status: int, signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects
) -> None:
    browser = signed_out.browser(quiet())
    ref, _ = recorded(signed_out, browser, "/refund/")
    site.answer = lambda _: HttpResponse("not that it failed", status=status)
    response = browser.post("/refund/", ORDER)
    assert reference(response)[1] != ref
    assert b"failed" not in response.content
    assert signed_out.status(ref) == "performing"
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-7-17", "OPS-7-18", "OPS-6-70")
def test_a_request_that_never_reached_the_action_is_made_again(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects, monkeypatch: Any
) -> None:
    browser = signed_out.browser(quiet())
    ref, _ = recorded(signed_out, browser)

    def fail(request: Any) -> None:
        raise RuntimeError

    site.terms_answer = fail
    assert browser.post("/buy/", ORDER).status_code == 500
    site.terms_answer = lambda request: HttpResponse("closed", status=503)
    assert browser.post("/buy/", ORDER).status_code == 503
    site.terms_answer = lambda request: None

    def locked(*_: Any, **__: Any) -> Any:
        raise OperationalError("database is locked")

    with monkeypatch.context() as patched:
        patched.setattr("poppy_operations.gate.decision.live_revisions", locked)
        assert browser.post("/buy/", ORDER).status_code >= 500
    assert effects() == []
    assert signed_out.status(ref) == "approved"
    assert browser.post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 1


# Operations are stored


@pytest.mark.requirement("OPS-6-70")
@pytest.mark.ambiguity("AMB-39")
def test_amb_39_a_short_reference_alone_gives_the_whole_operation_whatever_else_is_lost(
    signed_out: SessionOf, jacket: Item, effects: Effects, clock: Clock
) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    operation = signed_out.look_up(ref)
    cache.clear()
    browser.post("/accounts/logout/")
    signed_out.client = Client(headers={"host": HOST})
    assert len(ref) <= 64
    assert is_refused_with(signed_out.endpoint(ref), operation)
    assert signed_out.endpoint(ref, approval_of(operation)).status_code == 204
    cache.clear()
    clock.at(minutes=15)
    other = SessionOf(signed_out.agent, signed_out.issuer, sid="ses_later")
    assert other.browser().post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 1
    assert Approval.objects.get().sid == "ses_1"


@pytest.mark.requirement("OPS-3-20")
def test_without_an_approval_nothing_of_the_action_is_touched(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects, mailoutbox: list[Any]
) -> None:
    touched: list[str] = []
    site.before_effect = lambda _: touched.append("before")
    site.answer = lambda _: redirect("/done/", touched.append("answer"))
    browser = signed_out.browser()
    for path in ("/buy/", "/refund/", "/class/", "/form/", "/abuy/", "/arefund/", "/each/"):
        for data in (ORDER, TWO):
            assert browser.post(path, data).status_code == 403
    assert touched == []
    assert effects() == []
    assert mailoutbox == []
