"""A browser is a person's again when the site says so, once it has re-authenticated the person."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth import user_logged_in
from django.contrib.auth.models import AnonymousUser
from django.test import AsyncClient, Client, RequestFactory

from poppy_operations.browser import marks
from poppy_operations.browser.handing_back import hand_back
from poppy_operations.models import Join
from tests.joins.joining import ajoin_browser, join_browser, ticket_path, whoami
from tests.shop.models import Effect

NAME = "sessionid_agent"


def test_a_person_gets_the_browser_back_at_once(client: Client, alice: Any, bob: Any) -> None:
    join_browser(client, bob)
    agents = client.cookies["sessionid"].value
    assert client.get("/hand-back/?login").text == "True"
    assert whoami(client) == {"user": "alice", "marked": False, "joined": False, "session": None}
    assert client.post("/transfer/").text == "transferred"
    assert not client.cookies[NAME].value
    assert client.cookies["sessionid"].value != agents
    join = Join.objects.get()
    assert (join.ended_because, join.ended_at is not None) == ("handed back", True)


def test_the_person_of_the_join_gets_the_browser_back_by_a_login(
    client: Client, alice: Any
) -> None:
    join_browser(client, alice)
    client.get("/hand-back/?login")
    assert whoami(client) == {"user": "alice", "marked": False, "joined": False, "session": None}


def test_whoever_has_the_sessions_old_key_is_still_the_agent(client: Client, alice: Any) -> None:
    join_browser(client)
    client.get("/in/alice/")
    late = Client()
    late.cookies["sessionid"] = client.cookies["sessionid"].value
    client.get("/hand-back/")
    assert whoami(late) == {"user": "", "marked": True, "joined": False, "session": None}
    assert whoami(client)["marked"] is False


def test_after_a_sign_out_the_cookie_is_handed_back(client: Client, alice: Any) -> None:
    join_browser(client, alice)
    client.post("/accounts/logout/")
    client.get("/in/alice/")
    assert whoami(client)["marked"] is True
    assert client.get("/hand-back/").text == "True"
    assert whoami(client)["marked"] is False


def test_a_browser_that_is_no_agents_stays_what_it_is(client: Client, alice: Any) -> None:
    client.force_login(alice)
    response = client.get("/hand-back/")
    assert response.text == "True"
    assert NAME not in response.cookies
    assert whoami(client)["user"] == "alice"


def test_the_login_that_a_join_gave_hands_nothing_back(client: Client, alice: Any) -> None:
    join_browser(client, alice)
    assert client.get("/hand-back/").text == "False"
    assert whoami(client)["session"] == ["ses_1", str(alice.pk), True]
    assert client.post("/transfer/").status_code == 403
    assert not Effect.objects.exists()


@pytest.mark.parametrize("ended", [True, False])
def test_a_browser_in_which_nobody_is_signed_in_is_not_handed_back(
    client: Client, alice: Any, ended: bool
) -> None:
    join_browser(client, alice if ended else None)
    if ended:
        Join.objects.all().delete()
    assert client.get("/hand-back/").text == "False"
    assert whoami(client)["marked"] is True


def test_a_site_that_hands_back_at_every_login_does_not_at_a_joins(
    client: Client, alice: Any
) -> None:
    said = []

    def at_every_login(request: Any, **named: Any) -> None:
        said.append(hand_back(request))

    user_logged_in.connect(at_every_login)
    try:
        join_browser(client, alice)
    finally:
        user_logged_in.disconnect(at_every_login)
    assert said == [False]
    assert whoami(client)["session"] == ["ses_1", str(alice.pk), True]


def test_an_error_of_the_server_hands_nothing_back(client: Client, alice: Any) -> None:
    join_browser(client)
    client.get("/in/alice/")
    assert client.get("/hand-back/?status=500").text == "True"
    assert client.post("/transfer/").status_code == 403
    assert whoami(client)["marked"] is True
    del client.cookies["sessionid"]
    assert whoami(client)["marked"] is True


def test_a_browser_that_is_handed_back_can_be_joined_again(client: Client, alice: Any) -> None:
    join_browser(client, alice)
    client.get("/hand-back/?login")
    path = ticket_path(alice)
    assert client.post(path, headers={"Sec-Fetch-Site": "same-origin"}).status_code == 303
    assert whoami(client)["session"] == ["ses_1", str(alice.pk), True]


def test_the_request_itself_is_a_persons_from_then_on(client: Client, alice: Any) -> None:
    join_browser(client)
    client.get("/in/alice/")
    request: Any = client.get("/untouched/").wsgi_request
    assert marks.is_marked(request)
    assert hand_back(request)
    assert not marks.is_marked(request)


def test_without_sessions_or_users_there_is_nothing_to_hand_back(alice: Any) -> None:
    request: Any = RequestFactory().get("/")
    assert hand_back(request) is False
    from django.contrib.sessions.backends.db import SessionStore

    request.session = SessionStore()
    assert hand_back(request) is False
    request.user = AnonymousUser()
    assert hand_back(request) is False


@pytest.mark.django_db(transaction=True)
async def test_a_browser_is_handed_back_in_the_event_loop(
    async_client: AsyncClient, alice: Any
) -> None:
    await ajoin_browser(async_client, await sync_to_async(ticket_path)(alice))
    assert (await async_client.get("/hand-back/?login")).text == "True"
    facts = (await async_client.get("/whoami/")).json()
    assert facts == {"user": "alice", "marked": False, "joined": False, "session": None}
