"""When a browser's request is the Session's, and what a page's script can do about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpResponse
from django.shortcuts import redirect
from django.test import Client

from poppy_operations.advertising import operations_fragment
from poppy_operations.declarations.outcomes import Refusal
from poppy_operations.declarations.registry import registry
from poppy_operations.models import Approval, Operation
from poppy_operations.protocol.structured import poppy_approval
from poppy_operations.sessions.agents import revoke_agent
from tests.agents import HOST, ORDER, SessionOf, approval_of, reference
from tests.asking import TWO, answer, ask, error, recorded
from tests.clock import Clock
from tests.shop import operations as shop
from tests.shop.company import Policy
from tests.shop.models import Item
from tests.shop.operations import Behaviour

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]
Anybody = Callable[..., SessionOf]


def a_browser() -> Client:
    """A browser that has been nowhere."""
    return Client(headers={"host": HOST})


NAVIGATION = {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}


def ticket_of(session: SessionOf) -> str:
    """Where a browser joins the Session."""
    answered = session.client.post(
        "/poppy/join", data="", content_type="application/json", headers=session.headers()
    )
    return "/" + str(answered.json()["url"]).split("/", 3)[3]


def is_undeclared(response: Any) -> bool:
    """Whether the browser is told that approval is needed and may not be had here."""
    return response.status_code == 403 and "Poppy-Operation" not in response


# Whose request it is


@pytest.mark.requirement("OPS-4-20", "OPS-4-21", "OPS-2-11")
@pytest.mark.parametrize("account", ["nobody", "alice"])
def test_the_operation_belongs_to_the_account_that_the_join_gave_or_to_none(
    account: str, anybody: Anybody, jacket: Item
) -> None:
    session = anybody(account=account)
    browser = session.browser()
    state = browser.session
    state["cart"] = "an anonymous cart is no login"
    state.save()
    ask(browser)
    assert Operation.objects.get().account == session.account


@pytest.mark.requirement("OPS-4-22")
@pytest.mark.ambiguity("AMB-31")
def test_amb_31_a_browser_with_a_login_of_its_own_gets_the_sites_own_flow(
    anybody: Anybody, jacket: Item, alice: Any, bob: Any, effects: Effects, company: Policy
) -> None:
    company.undeclared = lambda request: Refusal(redirect("/own-flow/"))
    kept, later, other = a_browser(), a_browser(), a_browser()
    kept.login(username="alice", password="alice")
    joined = kept.post(ticket_of(anybody()), headers={"Sec-Fetch-Site": "same-origin"})
    assert joined.status_code == 303
    anybody(account="alice").browser(later)
    later.post("/accounts/login/", {"username": "alice", "password": "alice"})
    anybody(account="alice").browser(other)
    other.post("/accounts/login/", {"username": "bob", "password": "bob"})
    signed_out_then_in = anybody().browser()
    signed_out_then_in.post("/accounts/login/", {"username": "alice", "password": "alice"})
    for browser in (kept, later, other, signed_out_then_in):
        response = browser.post("/buy/", ORDER)
        assert (response.status_code, response["Location"]) == (302, "/own-flow/")
        assert "Poppy-Operation" not in response
    assert effects() == []
    assert not Operation.objects.exists()


@pytest.mark.requirement("OPS-6-71")
def test_a_login_of_its_own_ends_what_the_join_could_do(
    anybody: Anybody, jacket: Item, alice: Any, effects: Effects
) -> None:
    session = anybody(account="alice")
    browser = session.browser()
    ref, _ = recorded(session, browser)
    browser.post("/accounts/login/", {"username": "alice", "password": "alice"})
    assert is_undeclared(browser.post("/buy/", ORDER))
    assert effects() == []
    assert session.status(ref) == "approved"


@pytest.mark.requirement("OPS-2-11", "OPS-2-12")
def test_a_join_without_the_declaration_gets_no_operation(
    anybody: Anybody, jacket: Item, effects: Effects
) -> None:
    session = anybody()
    session.declared = False
    browser = session.browser()
    for headers in ({}, {"Poppy-Extensions": '"operations";v="3"', "Poppy-Version": "1.0"}):
        response = browser.post("/buy/", ORDER, headers=headers)
        assert is_undeclared(response)
    as_json = browser.post("/buy/", ORDER, headers={"Accept": "application/json"})
    assert as_json.json() == {"error": "extension_required", "extension": "operations"}
    assert effects() == []
    assert not Operation.objects.exists()


@pytest.mark.ambiguity("AMB-03")
def test_amb_03_a_join_without_the_declaration_may_use_a_recorded_approval(
    anybody: Anybody, jacket: Item, effects: Effects
) -> None:
    session = anybody()
    recorded(session, session.browser())
    undeclared = anybody(sid="ses_2")
    undeclared.declared = False
    browser = undeclared.browser()
    assert browser.post("/buy/", ORDER).status_code == 302
    assert is_undeclared(browser.post("/buy/", ORDER))
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-2-12")
def test_a_join_without_the_declaration_gets_no_operation_while_the_action_is_performed(
    anybody: Anybody, jacket: Item, site: Behaviour, effects: Effects
) -> None:
    session, undeclared = anybody(), anybody(sid="ses_2")
    undeclared.declared = False
    browser, other = session.browser(), undeclared.browser()
    recorded(session, browser, "/refund/")
    seen: list[Any] = []
    site.before_effect = lambda _: seen.append(other.post("/refund/", ORDER))

    assert browser.post("/refund/", ORDER).status_code == 302
    assert (seen[0].status_code, "Poppy-Operation" in seen[0]) == (503, False)
    assert Operation.objects.get().revision_count == 1
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-2-11", "OPS-2-17")
def test_what_the_browser_itself_declares_is_not_looked_at(
    signed_out: SessionOf, jacket: Item
) -> None:
    browser = signed_out.browser()
    for declared in ('"operations";v="2"', "", "((("):
        refused = browser.post("/buy/", ORDER, headers={"Poppy-Extensions": declared})
        assert reference(refused)[0] == signed_out.sid


ENDINGS: dict[str, Callable[[SessionOf, Client, Clock], Any]] = {
    "time": lambda session, browser, clock: clock.at(hours=1, seconds=1),
    "revoked": lambda session, browser, clock: revoke_agent(session.agent.client_id),
    "ticket used twice": lambda session, browser, clock: _use_ticket_twice(session, browser),
}


def _use_ticket_twice(session: SessionOf, browser: Client) -> None:
    ticket = ticket_of(session)
    assert browser.get(ticket, headers=NAVIGATION).status_code == 303
    assert a_browser().get(ticket, headers=NAVIGATION).status_code >= 400


@pytest.mark.requirement("OPS-6-71", "OPS-8.1-03")
@pytest.mark.parametrize("account", ["nobody", "alice"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_when_a_join_is_over_so_is_the_login_it_gave_and_nothing_is_performed(
    ending: str, account: str, anybody: Anybody, jacket: Item, clock: Clock, effects: Effects
) -> None:
    session = anybody(account=account)
    browser = session.browser()
    recorded(session, browser)
    ENDINGS[ending](session, browser, clock)
    assert is_undeclared(browser.post("/buy/", ORDER))
    assert browser.get("/plain/").content == b"AnonymousUser"
    # It never is an ordinary visitor again, whose request would be performed at once.
    assert is_undeclared(browser.post("/buy/", TWO))
    assert effects() == []


@pytest.mark.requirement("OPS-4-25", "OPS-8.2-06")
def test_each_browser_sees_the_session_of_its_own_join(anybody: Anybody, jacket: Item) -> None:
    first, second = anybody(sid="ses_a").browser(), anybody(sid="ses_b").browser()
    assert reference(first.post("/buy/", ORDER))[0] == "ses_a"
    # The very same operation, which either of them can approve.
    refused = second.post("/buy/", ORDER)
    assert reference(refused)[0] == "ses_b"
    assert "no-store" in refused["Cache-Control"]
    assert reference(first.post("/buy/", ORDER))[0] == "ses_a"
    anybody(sid="ses_c").browser(first)
    assert reference(first.post("/buy/", ORDER))[0] == "ses_c"
    assert Operation.objects.count() == 1


@pytest.mark.requirement("OPS-2-23")
def test_browsers_that_no_agent_uses_notice_nothing(
    alice: Any, jacket: Item, effects: Effects
) -> None:
    anonymous, signed_in = a_browser(), a_browser()
    signed_in.force_login(alice)
    for browser in (anonymous, signed_in):
        for path in ("/buy/", "/refund/", "/form/", "/each/", "/unrepeatable/"):
            response = browser.post(path, ORDER)
            assert (response.status_code, response["Location"]) == (302, "/done/")
            assert "Poppy-Operation" not in response
    assert len(effects()) == 10
    assert not Operation.objects.exists()


# What a page's script can do


@pytest.mark.requirement("OPS-6-31", "OPS-6-32", "OPS-8.2-03")
def test_an_approval_that_a_script_adds_to_a_browsers_request_is_ignored(
    signed_out: SessionOf, jacket: Item, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    approval = poppy_approval(approval_of(signed_out.look_up(ref)))
    for header in (approval, "", '"', 'operation_id="a"'):
        response = browser.post("/buy/", ORDER, headers={"Poppy-Approval": header})
        assert reference(response) == (signed_out.sid, ref)
    assert not Approval.objects.exists()
    assert effects() == []


@pytest.mark.requirement("OPS-8.2-03", "OPS-8.2-05")
@pytest.mark.ambiguity("AMB-37")
def test_amb_37_a_session_header_is_the_apis_and_a_bad_one_is_refused(
    signed_out: SessionOf, jacket: Item, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref, approval = recorded(signed_out, browser)
    for header in ("", "a.b.c", signed_out.sid):
        response = browser.post("/buy/", ORDER, headers={"Poppy-Session": header})
        assert error(response) == (403, "invalid_session")
    # A valid one makes it an API's request, for which the website's record does not count.
    response = browser.post("/buy/", ORDER, headers=signed_out.headers())
    assert error(response) == (403, "approval_required")
    assert "Poppy-Operation" not in response
    assert response.json()["operation"]["operation_id"] != approval["operation_id"]
    assert signed_out.status(ref) == "approved"
    assert effects() == []


@pytest.mark.ambiguity("AMB-37")
@pytest.mark.parametrize("header", ['operation_id="a"', "", '"', "a=1"])
def test_amb_37_an_approval_without_a_session_is_refused_everywhere_else(
    header: str, jacket: Item, alice: Any, effects: Effects
) -> None:
    signed_in = a_browser()
    signed_in.force_login(alice)
    for browser in (a_browser(), signed_in):
        response = browser.post("/buy/", ORDER, headers={"Poppy-Approval": header})
        assert error(response) == (403, "invalid_session")
    assert effects() == []


@pytest.mark.requirement("OPS-8.2-07")
def test_a_scripts_own_words_are_neither_terms_nor_summary(
    signed_out: SessionOf, jacket: Item
) -> None:
    lies = {"summary": "Buy nothing, for free.", "terms": "none", "total": "0"}
    ref = ask(signed_out.browser(), "/buy/", {**ORDER, **lies})
    operation = signed_out.look_up(ref)
    assert operation["summary"] == "Buy 1 × jacket for $70.00."
    assert operation["terms"]["total"] == {"amount": "70.00", "currency": "USD"}
    assert not any(lie in str(operation) for lie in ("nothing", "free", "none"))


@pytest.mark.requirement("OPS-8.2-08", "OPS-1-05", "OPS-5-02")
def test_a_script_gets_what_was_approved_and_nothing_that_differs(
    signed_out: SessionOf, jacket: Item, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref, _ = recorded(signed_out, browser)
    other = ask(browser, "/buy/", TWO)
    assert other != ref
    assert ask(browser, "/buy/", {**ORDER, "gift": "1"}) not in (ref, other)
    assert ask(browser, "/buy/?gift=1", ORDER) not in (ref, other)
    assert effects() == []
    script = {"Accept": "application/json", "Sec-Fetch-Mode": "cors"}
    assert browser.post("/buy/", ORDER, headers=script).status_code == 302
    assert browser.post("/buy/", ORDER, headers=script).status_code == 403
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-6-32", "OPS-8.2-03")
def test_the_waiting_page_and_its_question_approve_nothing(
    signed_out: SessionOf, jacket: Item, effects: Effects
) -> None:
    browser = signed_out.browser()
    refused = browser.post("/buy/", ORDER)
    ref = reference(refused)[1]
    approval = {"Poppy-Approval": poppy_approval(approval_of(signed_out.look_up(ref)))}
    watch = Operation.objects.get().revisions.get().watch
    for path in (f"/poppy/waiting/{watch}", f"/poppy/waiting/{ref}", "/poppy/join", "/done/"):
        for method in (browser.get, browser.post):
            for headers in ({}, approval, {**approval, "Poppy-Session": signed_out.sid}):
                method(path, {"ref": ref}, headers=headers)
    assert not Approval.objects.exists()
    assert browser.post("/buy/", ORDER).status_code == 403
    assert effects() == []


# What is behind the gate


@pytest.mark.requirement("OPS-1-07")
def test_the_rest_of_the_site_works_as_without_operations(
    signed_in: SessionOf, jacket: Item, site: Behaviour
) -> None:
    browser = signed_in.browser()
    for path in ("/buy/", "/class/", "/plain/", "/done/"):
        response = browser.get(path)
        assert response.status_code == 200
        assert "Poppy-Operation" not in response
    assert not Operation.objects.exists()


@pytest.mark.requirement("OPS-2-06", "OPS-2-13", "OPS-4-31", "OPS-8.1-04")
def test_an_action_that_is_not_repeatable_is_approved_in_the_sites_own_way(
    signed_out: SessionOf, jacket: Item, effects: Effects, company: Policy
) -> None:
    browser = signed_out.browser()
    assert is_undeclared(browser.post("/unrepeatable/", ORDER))
    company.undeclared = lambda request: Refusal(redirect("/own-flow/"))
    response = browser.post("/unrepeatable/", ORDER)
    assert (response.status_code, response["Location"]) == (302, "/own-flow/")
    assert "Poppy-Operation" not in response
    assert browser.get("/own-flow/").content == b"Confirm it here."
    assert effects() == []
    assert not Operation.objects.exists()


@pytest.mark.requirement("OPS-2-06", "OPS-2-18")
def test_where_the_website_returns_no_operations_nobody_gets_one_there(
    signed_out: SessionOf, jacket: Item, effects: Effects, monkeypatch: Any, company: Policy
) -> None:
    browser = signed_out.browser()
    for action in registry:
        monkeypatch.setattr(action, "website", False)
    assert "endpoint" not in operations_fragment()["operations"][0]
    company.undeclared = lambda request: Refusal(HttpResponse("Call us."))
    response = browser.post("/buy/", ORDER)
    assert response.content == b"Call us."
    assert "Poppy-Operation" not in response
    assert effects() == []
    assert not Operation.objects.exists()


def test_an_action_without_a_door_on_the_website_has_none_there(
    signed_out: SessionOf, jacket: Item, effects: Effects, monkeypatch: Any
) -> None:
    monkeypatch.setattr(shop.buy, "has_website_door", False)
    assert is_undeclared(signed_out.browser().post("/buy/", ORDER))
    assert effects() == []


@pytest.mark.requirement("OPS-2-13")
def test_an_undeclared_browser_goes_on_where_no_approval_is_needed(
    anybody: Anybody, jacket: Item, site: Behaviour, effects: Effects, company: Policy
) -> None:
    session = anybody()
    session.declared = False
    site.needed = False
    assert session.browser().post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 1


# The site's own right


@pytest.mark.requirement("OPS-4-56")
@pytest.mark.ambiguity("AMB-25", "AMB-33")
def test_amb_25_amb_33_the_sites_own_right_comes_before_everything_and_before_performing(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects
) -> None:
    browser = signed_out.browser()
    site.allowed = lambda request: HttpResponse("not yours", status=404)
    for path in ("/buy/", "/orders/o1/exchange/"):
        response = browser.post(path, ORDER)
        assert "Poppy-Operation" not in response
    assert site.terms_called == 0
    assert not Operation.objects.exists()
    site.allowed = lambda request: None
    ref, _ = recorded(signed_out, browser)
    site.allowed = lambda request: HttpResponse("not yours", status=404)
    called = site.terms_called
    response = browser.post("/buy/", ORDER)
    assert (response.status_code, response.content) == (404, b"not yours")
    assert site.terms_called == called
    assert effects() == []
    assert signed_out.status(ref) == "approved"
    site.allowed = lambda request: None
    assert browser.post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 1


@pytest.mark.ambiguity("AMB-25")
def test_amb_25_nobody_is_asked_about_what_is_invalid(
    signed_out: SessionOf, jacket: Item, effects: Effects
) -> None:
    browser = signed_out.browser()
    for data, status in (({"sku": "jacket", "quantity": "0"}, 400), ({"sku": "hat"}, 404)):
        response = browser.post("/buy/", {"quantity": "1", **data})
        assert response.status_code == status
        assert "Poppy-Operation" not in response
    login = signed_out.browser().post("/orders/o1/exchange/", ORDER)
    assert (login.status_code, "Poppy-Operation" in login) == (302, False)
    assert not Operation.objects.exists()
    assert effects() == []


@pytest.mark.requirement("OPS-8.2-06")
def test_the_same_refusal_twice_is_the_same_for_the_same_browser(
    signed_out: SessionOf, jacket: Item
) -> None:
    browser = signed_out.browser()
    json_form = {"Accept": "application/json"}
    first = browser.post("/buy/", ORDER, headers=json_form)
    assert answer(browser.post("/buy/", ORDER, headers=json_form)) == answer(first)
