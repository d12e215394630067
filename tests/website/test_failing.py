"""Runs that fail, and requests and answers that get lost."""

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
from poppy_operations.models import Approval
from tests.agents import HOST, ORDER, SessionOf, approval_of, reference
from tests.asking import ask, is_refused_with, quiet, recorded
from tests.clock import Clock
from tests.shop.models import Item
from tests.shop.operations import Behaviour, SoldOut

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]


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
