"""The browser join from outside: the agent's POST and the browser's way through it."""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime, timedelta
from functools import partial
from html.parser import HTMLParser
from typing import Any

import pytest
from django.db import InternalError, OperationalError, connection
from django.test import AsyncClient, Client

from poppy_operations.browser import joins
from poppy_operations.company import Company
from poppy_operations.models import Agent, Join
from poppy_operations.sessions.agents import add_agent, revoke_agent
from poppy_operations.sessions.refusals import KeysUnavailable
from poppy_operations.testing.agents import PersonalAgent
from tests.agents import AGENT, AUDIENCE, HOST
from tests.configuring import configure
from tests.connections import together
from tests.joins.joining import (
    SUBMITTED,
    TYPED,
    a_user,
    agent_headers,
    ajoin_browser,
    ask_for_ticket,
    join_browser,
    ticket_path,
    whoami,
)

INVALID_TITLE = "This address cannot be used"


class UnreachableKeys(Company):
    def session_for(self, request: Any) -> Any:
        message = "The keys are out of reach."
        raise KeysUnavailable(message)


# The agent's POST.


def test_an_agent_gets_a_ticket_for_a_minute() -> None:
    response = ask_for_ticket()
    assert response.status_code == 200
    assert response.json().keys() == {"url", "expires_in"}
    assert response.json()["expires_in"] == 60
    assert re.fullmatch(r"http://testserver/poppy/join/[A-Za-z0-9_-]{22}", response.json()["url"])
    assert "no-store" in response["Cache-Control"]


def test_the_ticket_is_stored_as_a_digest_only() -> None:
    ticket = ask_for_ticket().json()["url"].rsplit("/", 1)[1]
    stored = Join.objects.values().get()
    assert ticket not in str(stored)
    assert len(stored["ticket_digest"]) == 64


@pytest.mark.parametrize("headers", [{}, {"Poppy-Session": "x"}, {"Poppy-Session": ""}])
def test_without_a_good_session_it_is_invalid_session(headers: dict[str, str]) -> None:
    response = Client().post("/poppy/join", headers=headers)
    assert (response.status_code, response.json()) == (403, {"error": "invalid_session"})
    assert "no-store" in response["Cache-Control"]


def test_a_revoked_agent_gets_no_ticket() -> None:
    revoke_agent(AGENT.client_id)
    assert ask_for_ticket().json() == {"error": "invalid_session"}


def test_another_version_is_an_invalid_request() -> None:
    headers = {**agent_headers(), "Poppy-Version": "2.0"}
    response = Client().post("/poppy/join", headers=headers)
    assert (response.status_code, response.json()) == (400, {"error": "invalid_request"})


def test_a_bad_access_token_is_told_with_its_challenge() -> None:
    headers = AGENT.headers(audience=AUDIENCE, access_token="not-a-token")
    response = Client().post("/poppy/join", headers=headers)
    assert (response.status_code, response.json()) == (401, {"error": "invalid_token"})
    assert response["WWW-Authenticate"] == 'Bearer error="invalid_token"'


def test_a_token_needs_the_scope_for_browsers(alice: Any) -> None:
    response = ask_for_ticket(alice, scope="orders:write")
    assert response.status_code == 403
    assert response.json() == {"error": "insufficient_scope", "scope": "poppy:browser-sign-in"}
    assert not Join.objects.exists()


def test_keys_that_are_out_of_reach_are_not_the_agents_fault(settings: Any) -> None:
    configure(settings, COMPANY="tests.joins.test_join.UnreachableKeys")
    response = ask_for_ticket()
    assert response.status_code == 503
    assert response.json() == {"error": "temporarily_unavailable"}
    assert int(response["Retry-After"]) > 0


@pytest.mark.parametrize("fields", [{"is_staff": True}, {"is_superuser": True}])
def test_a_token_of_staff_is_refused(fields: dict[str, bool]) -> None:
    response = ask_for_ticket(a_user("staff", **fields))
    assert (response.status_code, response.json()) == (403, {"error": "invalid_session"})
    assert not Join.objects.exists()


def test_a_setting_lets_staff_join(settings: Any, client: Client) -> None:
    configure(settings, JOIN_STAFF=True)
    join_browser(client, a_user("staff", is_staff=True))
    assert whoami(client)["user"] == "staff"


def test_an_account_of_nobody_is_refused() -> None:
    assert ask_for_ticket("4711").json() == {"error": "invalid_session"}


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b'"x"',
        b"\xff",
        b"[" * 100_000,
        json.dumps({"return_to": 1}).encode(),
        json.dumps({"return_to": "orders/"}).encode(),
        json.dumps({"return_to": ""}).encode(),
        json.dumps({"return_to": "https://elsewhere.example/"}).encode(),
        json.dumps({"return_to": "//elsewhere.example/"}).encode(),
        json.dumps({"return_to": "/\\elsewhere.example/"}).encode(),
        json.dumps({"return_to": "javascript:alert(1)"}).encode(),
        json.dumps({"return_to": "http://[broken/"}).encode(),
        json.dumps({"return_to": "/a\nb"}).encode(),
        json.dumps({"return_to": "/" + "a" * 2000}).encode(),
        json.dumps({"return_to": "/\ud800"}).encode(),
        json.dumps({"cookie": "x"}).encode(),
        json.dumps({"cookie": {"name": "", "value": "v"}}).encode(),
        json.dumps({"cookie": {"name": "n", "value": ""}}).encode(),
        json.dumps({"cookie": {"name": "n" * 201, "value": "v"}}).encode(),
        json.dumps({"cookie": {"value": "v"}}).encode(),
        json.dumps({"cookie": {"name": "\ud800", "value": "v"}}).encode(),
        json.dumps({"cookie": {"name": "a\0", "value": "v"}}).encode(),
    ],
)
def test_a_body_that_cannot_be_used_is_an_invalid_request(content: bytes) -> None:
    response = Client().post(
        "/poppy/join", data=content, content_type="application/json", headers=agent_headers()
    )
    assert (response.status_code, response.json()) == (400, {"error": "invalid_request"})
    assert not Join.objects.exists()


@pytest.mark.parametrize("body", [{"return_to": None, "cookie": None}, {"more": 1}, {}])
def test_the_members_of_the_body_are_optional(body: Any) -> None:
    assert ask_for_ticket(body=body).status_code == 200


def test_the_body_is_optional() -> None:
    response = Client().generic("POST", "/poppy/join", headers=agent_headers())
    assert response.status_code == 200


@pytest.mark.parametrize("method", ["get", "head", "put", "delete", "options"])
def test_only_post_is_served(method: str) -> None:
    response = getattr(Client(), method)("/poppy/join")
    assert response.status_code == 405
    assert response["Allow"] == "POST"


def test_cookies_are_neither_needed_nor_looked_at(alice: Any, client: Client) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(alice)
    refused = browser.post("/poppy/join")
    assert refused.json() == {"error": "invalid_session"}
    served = browser.generic("POST", "/poppy/join", headers=agent_headers())
    assert served.status_code == 200
    assert "Cookie" not in served.get("Vary", "")
    assert Join.objects.get().account is None


def test_an_agent_that_is_gone_in_the_meantime_is_refused(settings: Any) -> None:
    configure(settings, COMPANY="tests.joins.test_join.GoneAgent")
    assert ask_for_ticket().json() == {"error": "invalid_session"}


class GoneAgent(Company):
    def session_for(self, request: Any) -> Any:
        session = super().session_for(request)
        Agent.objects.all().delete()
        return session


# The browser.


def test_a_browser_without_a_login_joins_at_once(client: Client) -> None:
    response = join_browser(client)
    assert response["Location"] == "/"
    assert response["Referrer-Policy"] == "no-referrer"
    assert "no-store" in response["Cache-Control"]
    facts = whoami(client)
    assert facts == {
        "user": "",
        "marked": True,
        "joined": True,
        "session": ["ses_1", None, True],
    }


def test_with_a_token_the_account_is_signed_in(alice: Any, client: Client) -> None:
    join_browser(client, alice)
    facts = whoami(client)
    assert facts["user"] == "alice"
    assert facts["session"] == ["ses_1", str(alice.pk), True]


def test_what_the_agent_did_not_declare_the_browser_does_not(client: Client) -> None:
    path = ticket_path(declared=False)
    client.get(path, headers=TYPED)
    assert whoami(client)["session"] == ["ses_1", None, False]
    headers = {"Poppy-Extensions": '"operations";v="3"'}
    assert client.get("/whoami/", headers=headers).json()["session"][2] is False


@pytest.mark.parametrize(
    ("return_to", "location"),
    [
        ("/orders/1/?a=b", "/orders/1/?a=b"),
        ("http://testserver/orders/", "http://testserver/orders/"),
        (None, "/"),
    ],
)
def test_the_browser_goes_on_where_the_agent_wants(
    client: Client, return_to: str | None, location: str
) -> None:
    path = ticket_path(body={"return_to": return_to})
    assert client.get(path, headers=TYPED)["Location"] == location


def test_another_host_of_the_site_has_pages_of_its_own(client: Client) -> None:
    path = ticket_path(body={"return_to": "http://testserver/orders/"})
    response = client.get(path, headers={**TYPED, "host": HOST})
    assert response["Location"] == "/"


def test_joining_gives_the_browser_another_session_key(client: Client) -> None:
    client.session.save()
    session = client.session
    session["cart"] = "kept"
    session.save()
    before = client.cookies["sessionid"].value
    join_browser(client)
    assert client.cookies["sessionid"].value != before
    assert client.session["cart"] == "kept"
    thief = Client()
    thief.cookies["sessionid"] = before
    assert whoami(thief)["marked"] is False


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none", "Sec-Purpose": "prefetch;prerender"},
        {"Sec-Fetch-Site": "none", "Purpose": "prefetch"},
        {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "image"},
        {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "iframe"},
        {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "empty"},
    ],
)
def test_another_sites_link_does_not_join(client: Client, headers: dict[str, str]) -> None:
    path = ticket_path()
    refused = client.get(path, headers=headers)
    assert refused.status_code == 400
    assert INVALID_TITLE in refused.text
    assert refused["Referrer-Policy"] == "no-referrer"
    assert client.get(path, headers=TYPED).status_code == 303


def test_a_setting_serves_browsers_without_fetch_metadata(settings: Any, client: Client) -> None:
    configure(settings, JOIN_WITHOUT_FETCH_METADATA=True)
    assert client.get(ticket_path()).status_code == 303


def test_head_and_other_methods_use_no_ticket_up(client: Client) -> None:
    path = ticket_path()
    for method in (client.head, client.put, client.options):
        assert method(path, headers=TYPED).status_code == 405
    assert client.get(path, headers=TYPED).status_code == 303


def test_used_expired_and_unknown_tickets_look_the_same(client: Client, time_machine: Any) -> None:
    time_machine.move_to(datetime(2026, 10, 8, 19, 20, tzinfo=UTC), tick=False)
    used, expired = ticket_path(), ticket_path()
    Client().get(used, headers=TYPED)
    time_machine.shift(timedelta(seconds=60))
    unknown = "/poppy/join/AAAAAAAAAAAAAAAAAAAAAA"
    ill_formed = "/poppy/join/%F0%9F%8E%AB!"
    answers = [client.get(path, headers=TYPED) for path in (used, expired, unknown, ill_formed)]
    assert [answer.status_code for answer in answers] == [400] * 4
    assert len({answer.content for answer in answers}) == 1
    assert len({str(sorted(answer.items())) for answer in answers}) == 1


def test_a_ticket_lasts_to_the_end_of_its_minute(client: Client, time_machine: Any) -> None:
    time_machine.move_to(datetime(2026, 10, 8, 19, 20, tzinfo=UTC), tick=False)
    path = ticket_path()
    time_machine.shift(timedelta(seconds=59))
    assert client.get(path, headers=TYPED).status_code == 303


def test_the_second_use_of_a_ticket_ends_the_join_of_the_first(alice: Any) -> None:
    first, second = Client(), Client()
    path = ticket_path(alice)
    assert first.get(path, headers=TYPED).status_code == 303
    assert second.get(path, headers=TYPED).status_code == 400
    facts = whoami(first)
    assert facts == {"user": "", "marked": True, "joined": False, "session": None}
    assert whoami(second)["marked"] is False
    assert Join.objects.get().ended_because == "ticket used twice"


def test_an_agent_that_is_revoked_meanwhile_joins_no_browser(client: Client) -> None:
    path = ticket_path()
    revoke_agent(AGENT.client_id)
    assert client.get(path, headers=TYPED).status_code == 400


def test_an_account_that_became_staff_meanwhile_joins_no_browser(
    alice: Any, client: Client
) -> None:
    path = ticket_path(alice)
    alice.is_staff = True
    alice.save()
    assert client.get(path, headers=TYPED).status_code == 400


def test_only_the_browser_with_the_cookie_redeems_the_ticket(client: Client) -> None:
    path = ticket_path(body={"cookie": {"name": "shop_visit", "value": "v1"}})
    thief = Client()
    assert thief.get(path, headers=TYPED).status_code == 400
    thief.cookies["shop_visit"] = "v2"
    assert thief.get(path, headers=TYPED).status_code == 400
    client.cookies["shop_visit"] = "v1"
    assert client.get(path, headers=TYPED).status_code == 303


def test_a_join_never_outlives_its_token(alice: Any, client: Client, time_machine: Any) -> None:
    time_machine.move_to(datetime(2026, 10, 8, 19, 20, tzinfo=UTC), tick=False)
    join_browser(client, alice, lifetime=600)
    time_machine.shift(timedelta(seconds=599))
    assert whoami(client)["user"] == "alice"
    time_machine.shift(timedelta(seconds=1))
    assert whoami(client)["user"] == ""


def test_a_token_for_longer_than_there_are_years_gives_a_join(alice: Any, client: Client) -> None:
    join_browser(client, alice, lifetime=10**13)
    assert whoami(client)["user"] == "alice"


def test_a_token_that_is_over_gives_no_join(alice: Any, client: Client) -> None:
    # Accepted for the sake of the clocks' difference, it has no time left.
    path = ticket_path(alice, lifetime=-5)
    assert client.get(path, headers=TYPED).status_code == 400


# A browser with a login of its own.


class Page(HTMLParser):
    """Counts what a strict Content-Security-Policy forbids."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]


def csrf_token(response: Any) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', response.text)
    assert found is not None
    return found[1]


def test_a_browser_with_a_login_is_asked_who_joins_whom(alice: Any, bob: Any) -> None:
    client = Client()
    client.force_login(bob)
    page = client.get(ticket_path(alice), headers=TYPED)
    assert page.status_code == 200
    for words in ("Ada&#x27;s agent", AGENT.client_id, "bob", "alice"):
        assert words in page.text
    assert page["Referrer-Policy"] == "same-origin"
    assert page["X-Frame-Options"] == "DENY"
    assert "no-store" in page["Cache-Control"]
    assert whoami(client) == {"user": "bob", "marked": False, "joined": False, "session": None}


def test_the_form_joins_by_a_post_of_this_site(alice: Any, bob: Any) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(bob)
    path = ticket_path(alice)
    token = csrf_token(client.get(path, headers=TYPED))
    form = {"csrfmiddlewaretoken": token}
    assert client.post(path, headers=SUBMITTED).status_code == 403
    origin = {**SUBMITTED, "Origin": "https://elsewhere.example"}
    assert client.post(path, form, headers=origin).status_code == 403
    for site in ("cross-site", "same-site", "none"):
        assert client.post(path, form, headers={"Sec-Fetch-Site": site}).status_code == 400
    assert client.post(path, form).status_code == 400
    origin = {**SUBMITTED, "Origin": "http://testserver"}
    response = client.post(path, form, headers=origin)
    assert response.status_code == 303
    assert whoami(client)["session"] == ["ses_1", str(alice.pk), True]


def test_another_login_and_its_data_end_before_the_joins(alice: Any, bob: Any) -> None:
    client = Client()
    client.force_login(bob)
    session = client.session
    session["cart"] = "bob's"
    session.save()
    before = client.cookies["sessionid"].value
    assert client.post(ticket_path(alice), headers=SUBMITTED).status_code == 303
    assert "cart" not in client.session
    assert client.cookies["sessionid"].value != before


def test_without_a_token_a_login_is_left_alone(bob: Any) -> None:
    client = Client()
    client.force_login(bob)
    path = ticket_path()
    page = client.get(path, headers=TYPED)
    assert page.status_code == 200
    assert "You stay signed in." in page.text
    assert client.post(path, headers=SUBMITTED).status_code == 303
    assert whoami(client) == {"user": "bob", "marked": True, "joined": True, "session": None}


def test_a_login_by_this_agents_earlier_join_needs_no_click(alice: Any, client: Client) -> None:
    join_browser(client, alice, sid="ses_1")
    session = client.session
    session["cart"] = "kept"
    session.save()
    join_browser(client, alice, sid="ses_2")
    assert whoami(client)["session"] == ["ses_2", str(alice.pk), True]
    assert client.session["cart"] == "kept"
    first, second = Join.objects.order_by("pk")
    assert (first.ended_because, second.ended_because) == ("new join", "")


def test_a_login_by_another_agents_join_is_asked_about(alice: Any, client: Client) -> None:
    other = PersonalAgent("https://other-agent.example/client")
    add_agent(other.client_id, jwks=other.jwks)
    join_browser(client, alice, agent=other)
    assert client.get(ticket_path(alice), headers=TYPED).status_code == 200


def test_a_login_by_another_agents_join_ends_with_it(alice: Any, client: Client) -> None:
    other = PersonalAgent("https://other-agent.example/client")
    add_agent(other.client_id, jwks=other.jwks)
    join_browser(client, alice, agent=other)
    path = ticket_path()
    assert "This browser will be signed out." in client.get(path, headers=TYPED).text
    assert client.post(path, headers=SUBMITTED).status_code == 303
    assert whoami(client)["session"] == ["ses_1", None, True]


def test_a_signed_out_join_ends_the_login_of_the_one_before(alice: Any, client: Client) -> None:
    join_browser(client, alice)
    join_browser(client, sid="ses_2")
    assert whoami(client) == {
        "user": "",
        "marked": True,
        "joined": True,
        "session": ["ses_2", None, True],
    }


def test_a_join_for_another_account_leaves_nothing_of_the_first(
    alice: Any, bob: Any, client: Client
) -> None:
    join_browser(client, alice)
    session = client.session
    session["cart"] = "alice's"
    session.save()
    join_browser(client, bob)
    assert whoami(client)["session"] == ["ses_1", str(bob.pk), True]
    assert "cart" not in client.session


def test_a_login_that_has_ended_is_no_login(alice: Any, client: Client, time_machine: Any) -> None:
    time_machine.move_to(datetime(2026, 10, 8, 19, 20, tzinfo=UTC), tick=False)
    join_browser(client, alice)
    time_machine.shift(timedelta(hours=1))
    join_browser(client, alice, sid="ses_2")
    assert whoami(client)["session"] == ["ses_2", str(alice.pk), True]


def test_the_pages_need_no_script_and_nothing_inline(alice: Any) -> None:
    client = Client()
    client.force_login(alice)
    path = ticket_path()
    for response in (client.get(path, headers=TYPED), client.get(path)):
        page = Page(response.text)
        assert page.tags.count("html") == page.tags.count("main") == page.tags.count("h1") == 1
        assert not {"script", "style"} & set(page.tags)
        assert not [name for name in page.attributes if name == "style" or name.startswith("on")]


# Many backends, transactions, event loop, threads.


def test_the_login_is_made_with_a_backend_that_knows_the_user(
    settings: Any, alice: Any, client: Client
) -> None:
    settings.AUTHENTICATION_BACKENDS = [
        "tests.joins.test_join.KnowsNobody",
        "django.contrib.auth.backends.ModelBackend",
    ]
    join_browser(client, alice)
    assert whoami(client)["user"] == "alice"
    settings.AUTHENTICATION_BACKENDS = ["tests.joins.test_join.KnowsNobody"] * 2
    assert ask_for_ticket(alice).json() == {"error": "invalid_session"}


class KnowsNobody:
    def get_user(self, pk: Any) -> None:
        return None


def test_the_company_may_choose_the_backend(settings: Any, alice: Any, client: Client) -> None:
    configure(settings, COMPANY="tests.joins.test_join.ChoosesBackend")
    settings.AUTHENTICATION_BACKENDS = [
        "tests.joins.test_join.KnowsNobody",
        "django.contrib.auth.backends.ModelBackend",
    ]
    join_browser(client, alice)
    assert whoami(client)["user"] == "alice"


class ChoosesBackend(Company):
    def user_of(self, account: str) -> Any:
        user: Any = super().user_of(account)
        user.backend = "django.contrib.auth.backends.ModelBackend"
        return user


class LetsAnybodyIn(Company):
    def user_of(self, account: str) -> Any:
        from django.contrib.auth import get_user_model

        return get_user_model().objects.get(pk=account)


def test_an_inactive_user_is_refused_whatever_the_company_says(settings: Any) -> None:
    configure(settings, COMPANY="tests.joins.test_join.LetsAnybodyIn")
    assert ask_for_ticket(a_user("gone", is_active=False)).status_code == 403


@pytest.mark.django_db(transaction=True)
def test_all_works_with_atomic_requests(
    atomic_requests: None, settings: Any, client: Client
) -> None:
    join_browser(client, a_user("alice"))
    assert whoami(client)["user"] == "alice"
    assert client.post("/poppy/join").status_code == 403


@pytest.mark.django_db(transaction=True)
async def test_all_works_in_the_event_loop(async_client: AsyncClient) -> None:
    from asgiref.sync import sync_to_async

    alice = await sync_to_async(a_user)("alice")
    headers = await sync_to_async(agent_headers)(alice)
    answer = await async_client.generic("POST", "/poppy/join", headers=headers)
    path = answer.json()["url"].removeprefix("http://testserver")
    await ajoin_browser(async_client, path)
    assert (await async_client.get("/awhoami/")).json() == {"user": "alice"}
    assert (await async_client.get("/whoami/")).json()["session"] == ["ses_1", str(alice.pk), True]


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_at_most_one_of_twelve_browsers_joins_and_none_stays_joined(own_connections: None) -> None:
    alice = a_user("alice")
    path = ticket_path(alice)

    clients = [Client() for _ in range(12)]
    answers = together([partial(client.get, path, headers=TYPED) for client in clients])
    statuses = [answer.status_code for answer in answers]
    assert statuses.count(303) <= 1
    assert set(statuses) <= {303, 400}
    assert [whoami(client)["user"] for client in clients] == [""] * 12
    join = Join.objects.get()
    assert join.redeemed_at is not None
    assert join.ended_because == "ticket used twice"


def test_a_browser_that_comes_second_is_not_joined(
    alice: Any, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ticket_path(alice)
    find = joins.redeemable_join

    def find_while_another_redeems(*arguments: Any) -> Any:
        found = find(*arguments)
        monkeypatch.setattr(joins, "redeemable_join", find)
        assert Client().get(path, headers=TYPED).status_code == 303
        return found

    monkeypatch.setattr(joins, "redeemable_join", find_while_another_redeems)
    assert client.get(path, headers=TYPED).status_code == 400
    assert whoami(client)["marked"] is False
    assert Join.objects.get().ended_because == "ticket used twice"


def test_an_agent_that_is_revoked_between_the_look_and_the_claim_joins_no_browser(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ticket_path()
    find = joins.redeemable_join

    def find_while_the_agent_is_revoked(*arguments: Any) -> Any:
        found = find(*arguments)
        revoke_agent(AGENT.client_id)
        return found

    monkeypatch.setattr(joins, "redeemable_join", find_while_the_agent_is_revoked)
    assert client.get(path, headers=TYPED).status_code == 400
    assert whoami(client)["marked"] is False
    assert Join.objects.get().redeemed_at is None


def test_a_ticket_that_expires_between_the_look_and_the_claim_joins_no_browser(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ticket_path()
    redeem = joins.redeem

    def redeem_too_late(request: Any, join: Join, user: Any, now: datetime) -> bool:
        return redeem(request, join, user, now + joins.TICKET_LIFETIME)

    monkeypatch.setattr(joins, "redeem", redeem_too_late)
    assert client.get(path, headers=TYPED).status_code == 400
    assert whoami(client)["marked"] is False
    assert Join.objects.get().redeemed_at is None


@pytest.mark.django_db(transaction=True)
def test_a_lock_is_met_with_one_more_try_and_then_said(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ticket_path()
    failures = [1, 2]

    def locked(execute: Any, sql: str, *arguments: Any) -> Any:
        if failures and sql.startswith("UPDATE") and "redeemed_at" in sql:
            failures.pop()
            message = "database is locked"
            raise OperationalError(message)
        return execute(sql, *arguments)

    with connection.execute_wrapper(locked):
        refused = client.get(path, headers=TYPED)
        assert refused.status_code == 503
        assert refused["Retry-After"] == "1"
        failures.append(1)
        assert client.get(path, headers=TYPED).status_code == 303


@pytest.mark.django_db(transaction=True)
def test_a_server_that_takes_no_writes_joins_nobody_and_says_when_to_come_again(
    client: Client,
) -> None:
    path = ticket_path()
    cause = Exception("cannot execute UPDATE in a read-only transaction")
    cause.sqlstate = "25006"  # type: ignore[attr-defined]  # psycopg's, which Django wraps

    def read_only(execute: Any, sql: str, *arguments: Any) -> Any:
        if sql.startswith("UPDATE") and "redeemed_at" in sql:
            raise InternalError(*cause.args) from cause
        return execute(sql, *arguments)

    with connection.execute_wrapper(read_only):
        refused = client.get(path, headers=TYPED)
    assert (refused.status_code, refused["Retry-After"]) == (503, "1")
    assert client.get(path, headers=TYPED).status_code == 303


def test_an_agents_joins_can_be_ended_for_good(client: Client, alice: Any) -> None:
    join_browser(client, alice)
    agent = Agent.objects.get()
    joins.end_joins_of(agent, datetime.now(UTC))
    assert whoami(client) == {"user": "", "marked": True, "joined": False, "session": None}
    assert Join.objects.get().ended_because == "agent revoked"


@pytest.mark.parametrize("with_account", [True, False])
def test_a_join_that_ends_while_it_is_made_gives_no_login(
    client: Client, monkeypatch: pytest.MonkeyPatch, alice: Any, with_account: bool
) -> None:
    path = ticket_path(alice if with_account else None)
    bind = joins._bind

    def bind_after_a_second_use(join: Join, *arguments: Any, **named: Any) -> bool:
        assert Client().get(path, headers=TYPED).status_code == 400
        return bind(join, *arguments, **named)

    monkeypatch.setattr(joins, "_bind", bind_after_a_second_use)
    assert client.get(path, headers=TYPED).status_code == 400
    assert whoami(client) == {"user": "", "marked": True, "joined": False, "session": None}


# What the log says.


def refusals(caplog: Any) -> list[str]:
    """What was logged of refused tickets."""
    return [text for text in caplog.messages if text.startswith("A ticket is refused. ")]


def test_the_log_says_why_there_is_no_ticket_and_no_secret(caplog: Any, alice: Any) -> None:
    with caplog.at_level(logging.INFO, "poppy_operations"):
        Client().post("/poppy/join", headers={"Poppy-Session": "s3cret.jwt"})
        Client().post("/poppy/join")
        ask_for_ticket(alice, scope="orders:write")
        ask_for_ticket("4711")

    reasons = [
        "invalid_session. The Session JWT or its delegation is refused:",
        "invalid_session. The request has no Poppy-Session header.",
        "insufficient_scope. The access token does not have the scope 'poppy:browser-sign-in'.",
        "invalid_session. The account of the Session cannot be signed in to by a join.",
    ]
    messages = [text for text in caplog.messages if text.startswith("Refused with ")]
    for message, reason in zip(messages, reasons, strict=True):
        assert message.startswith(f"Refused with {reason}")
    assert "s3cret" not in caplog.text


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({}, "no Sec-Fetch-Site"),
        ({"Sec-Fetch-Site": "cross-site"}, "Another site sent the browser here"),
        ({"Sec-Fetch-Site": "none", "Purpose": "prefetch"}, "in advance"),
        ({"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "image"}, "inside a page"),
    ],
)
def test_the_log_says_why_a_navigation_does_not_join(
    client: Client, headers: dict[str, str], reason: str, caplog: Any
) -> None:
    path = ticket_path()
    with caplog.at_level(logging.INFO, "poppy_operations"):
        client.get(path, headers=headers)

    [message] = refusals(caplog)
    assert reason in message
    assert path.rsplit("/", 1)[1] not in message


def test_the_log_says_what_became_of_a_ticket(
    client: Client, caplog: Any, time_machine: Any
) -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    time_machine.move_to(now, tick=False)
    unknown, odd = "/poppy/join/unknown", "/poppy/join/a%20b"
    used, expired = ticket_path(), ticket_path()
    for_another = ticket_path(body={"cookie": {"name": "sessionid", "value": "abc"}})
    client.get(used, headers=TYPED)
    with caplog.at_level(logging.INFO, "poppy_operations"):
        for path in (unknown, odd, used, for_another):
            client.get(path, headers=TYPED)
        time_machine.move_to(now + timedelta(seconds=60), tick=False)
        client.get(expired, headers=TYPED)
        time_machine.move_to(now, tick=False)
        Join.objects.update(ended_at=now)
        client.get(expired, headers=TYPED)

    assert [text.removeprefix("A ticket is refused. ") for text in refusals(caplog)] == [
        "There is no such ticket.",
        "There is no such ticket.",
        "It was used before, and its join is ended.",
        "The browser has not got the cookie that the ticket was made for.",
        "It has expired.",
        "Its join is over.",
    ]
    assert not [
        path for path in (used, expired, for_another) if path[-22:] in str(refusals(caplog))
    ]


def test_the_log_says_that_the_agent_or_the_account_is_out(
    client: Client, alice: Any, caplog: Any
) -> None:
    path, of_alice = ticket_path(), ticket_path(alice)
    alice.is_active = False
    alice.save()
    with caplog.at_level(logging.INFO, "poppy_operations"):
        client.get(of_alice, headers=TYPED)
        revoke_agent(AGENT.client_id)
        Join.objects.update(ended_at=None)
        client.get(path, headers=TYPED)

    assert [text.removeprefix("A ticket is refused. ") for text in refusals(caplog)] == [
        "Its account cannot be signed in to by a join.",
        "The agent is not on the allow-list, or is revoked.",
    ]
