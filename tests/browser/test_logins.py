"""The login that a join gave ends with the join, and the mark stays."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.contrib.sessions.models import Session as DjangoSession
from django.db import connection
from django.test import AsyncClient, Client, RequestFactory
from django.test.utils import CaptureQueriesContext

from poppy_operations.browser import joins, marks
from poppy_operations.browser.joins import purge_joins
from poppy_operations.models import Join
from poppy_operations.sessions.agents import revoke_agent
from tests.agents import AGENT
from tests.joins.joining import TYPED, ajoin_browser, join_browser, ticket_path, whoami

NOW = datetime(2026, 10, 8, 19, 20, tzinfo=UTC)


def _expire() -> None:
    Join.objects.update(expires_at=NOW)


def _revoke() -> None:
    revoke_agent(AGENT.client_id)


def _forget() -> None:
    Join.objects.all().delete()


def _use_the_ticket_again() -> None:
    joins.end_join(Join.objects.get().pk, joins.Over.USED_TWICE, NOW)


ENDS: list[Callable[[], object]] = [
    _expire,
    _revoke,
    _use_the_ticket_again,
    _forget,
]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("path", ["/user/", "/awhoami/"])
def test_the_login_ends_on_every_view_that_reads_the_user(
    client: Client, alice: Any, end: Callable[[], object], path: str
) -> None:
    join_browser(client, alice)
    assert "alice" in client.get(path).text
    before = client.cookies["sessionid"].value
    end()
    assert "alice" not in client.get(path).text
    assert client.cookies["sessionid"].value != before
    assert whoami(client) == {"user": "", "marked": True, "joined": False, "session": None}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.django_db(transaction=True)
async def test_the_login_ends_in_the_event_loop(
    async_client: AsyncClient, alice: Any, end: Callable[[], object]
) -> None:
    await ajoin_browser(async_client, await sync_to_async(ticket_path)(alice))
    assert (await async_client.get("/awhoami/")).json() == {"user": "alice"}
    assert (await async_client.get("/user/")).text == "alice"
    await sync_to_async(end)()
    assert (await async_client.get("/awhoami/")).json() == {"user": ""}
    assert (await async_client.get("/user/")).text == ""
    facts = (await async_client.get("/whoami/")).json()
    assert facts == {"user": "", "marked": True, "joined": False, "session": None}


def test_the_reason_is_kept(client: Client, alice: Any) -> None:
    for end, reason in zip(ENDS, ["expired", "agent revoked"], strict=False):
        Join.objects.all().delete()
        join_browser(client, alice)
        end()
        client.get("/user/")
        join = Join.objects.get()
        assert (join.ended_because, join.ended_at is not None) == (reason, True)


def test_the_key_that_the_browser_had_is_marked_and_signed_out(client: Client, alice: Any) -> None:
    # A tab that was loading, or a browser that never got the answer with the new key.
    join_browser(client, alice)
    before = client.cookies["sessionid"].value
    _expire()
    client.get("/user/")
    late = Client()
    late.cookies["sessionid"] = before
    assert whoami(late) == {"user": "", "marked": True, "joined": False, "session": None}


@pytest.mark.parametrize("status", [404, 500])
def test_an_error_of_the_view_does_not_unmark_the_browser(
    client: Client, alice: Any, status: int
) -> None:
    join_browser(client, alice)
    _expire()
    assert client.get(f"/status/{status}/").text == ""
    assert whoami(client) == {"user": "", "marked": True, "joined": False, "session": None}


def test_other_data_of_the_session_is_kept(client: Client, alice: Any) -> None:
    join_browser(client, alice)
    session = client.session
    session["cart"] = "kept"
    session.save()
    _expire()
    client.get("/user/")
    assert client.session["cart"] == "kept"


def test_a_login_of_its_own_outlives_the_join(client: Client, alice: Any) -> None:
    join_browser(client, alice)
    client.get("/in/alice/")
    _expire()
    assert whoami(client) == {"user": "alice", "marked": True, "joined": False, "session": None}


def test_reading_the_user_costs_one_query_with_a_joins_login_only(
    client: Client, alice: Any, bob: Any
) -> None:
    ordinary = Client()
    ordinary.force_login(bob)
    with CaptureQueriesContext(connection) as queries:
        ordinary.get("/user/")
    assert len(queries) == 2  # the site's own: session and user
    join_browser(client, alice)
    with CaptureQueriesContext(connection) as queries:
        client.get("/user/")
    assert len(queries) == 3
    with CaptureQueriesContext(connection) as queries:
        client.get("/untouched/")
    assert len(queries) == 0


def test_a_user_whom_no_session_names_is_left_alone(
    settings: Any, client: Client, alice: Any
) -> None:
    settings.MIDDLEWARE = [
        "tests.browser.test_logins.remote_user"
        if name == "django.contrib.auth.middleware.AuthenticationMiddleware"
        else name
        for name in settings.MIDDLEWARE
    ]
    client.cookies["sessionid"] = "x" * 32
    with CaptureQueriesContext(connection) as queries:
        response = client.get("/user/")
    assert response.text == "alice"
    assert len(queries) == 1
    assert "Cookie" not in response.get("Vary", "")


def remote_user(get_response: Any) -> Any:
    """A middleware that knows the user by other means, and has no ``auser``."""
    from django.contrib.auth import get_user_model

    def middleware(request: Any) -> Any:
        request.user = get_user_model().objects.get(username="alice")
        return get_response(request)

    return middleware


@pytest.mark.django_db(transaction=True)
async def test_a_user_whom_no_session_names_is_left_alone_in_the_event_loop(
    settings: Any, async_client: AsyncClient, alice: Any
) -> None:
    settings.MIDDLEWARE = [
        "tests.browser.test_logins.aremote_user"
        if name == "django.contrib.auth.middleware.AuthenticationMiddleware"
        else name
        for name in settings.MIDDLEWARE
    ]
    async_client.cookies["sessionid"] = "x" * 32
    assert (await async_client.get("/awhoami/")).json() == {"user": "alice"}


def aremote_user(get_response: Any) -> Any:
    from asgiref.sync import markcoroutinefunction
    from django.contrib.auth import get_user_model

    async def auser() -> Any:
        return await get_user_model().objects.aget(username="alice")

    async def middleware(request: Any) -> Any:
        request.user = None
        request.auser = auser
        return await get_response(request)

    return markcoroutinefunction(middleware)


aremote_user.async_capable = True
aremote_user.sync_capable = False


@pytest.mark.django_db(transaction=True)
async def test_a_login_of_its_own_is_left_alone_in_the_event_loop(
    async_client: AsyncClient, alice: Any, bob: Any
) -> None:
    await async_client.aforce_login(bob)
    assert (await async_client.get("/awhoami/")).json() == {"user": "bob"}


# Django's own ways with sessions.


@pytest.mark.parametrize("path", ["/in/bob/", "/ain/bob/"])
def test_the_mark_is_carried_over_when_another_user_signs_in(
    client: Client, alice: Any, bob: Any, path: str
) -> None:
    join_browser(client, alice)
    before = client.cookies["sessionid"].value
    client.get(path)
    assert client.cookies["sessionid"].value != before
    assert whoami(client) == {"user": "bob", "marked": True, "joined": False, "session": None}
    client.get("/in/alice/")
    assert whoami(client)["marked"] is True


def test_a_login_whose_answer_is_lost_leaves_the_browser_marked(
    client: Client, alice: Any, bob: Any
) -> None:
    join_browser(client, alice)
    client.get("/in/bob/?status=500")
    assert whoami(client)["marked"] is True


def test_a_password_changed_elsewhere_does_not_unmark_the_browser(
    client: Client, alice: Any
) -> None:
    join_browser(client, alice)
    alice.set_password("changed elsewhere")
    alice.save()
    assert client.get("/user/").text == ""
    assert whoami(client) == {"user": "", "marked": True, "joined": False, "session": None}


def test_a_password_changed_in_the_joined_browser_keeps_it_joined(
    client: Client, alice: Any
) -> None:
    join_browser(client, alice)
    before = client.cookies["sessionid"].value
    assert client.get("/password/").text == "changed"
    assert client.cookies["sessionid"].value != before
    assert whoami(client)["session"] == ["ses_1", str(alice.pk), True]


def test_emptying_the_session_is_no_sign_out(client: Client) -> None:
    join_browser(client)
    client.get("/flush/")
    assert whoami(client) == {"user": "", "marked": True, "joined": False, "session": None}


def test_the_sites_own_sign_out_ends_the_join_and_its_session(client: Client, alice: Any) -> None:
    join_browser(client, alice)
    before = client.cookies["sessionid"].value
    client.post("/accounts/logout/")
    assert whoami(client) == {"user": "", "marked": True, "joined": False, "session": None}
    assert "sessionid" not in client.cookies or not client.cookies["sessionid"].value
    assert not DjangoSession.objects.filter(pk=before).exists()
    join = Join.objects.get()
    assert (join.ended_because, join.ended_at is not None) == ("signed out", True)


def test_a_sign_out_without_a_join_says_nothing(client: Client, alice: Any) -> None:
    client.force_login(alice)
    client.post("/accounts/logout/")
    assert whoami(client)["marked"] is False


def test_a_sign_out_after_the_join_was_forgotten_ends_none(client: Client, alice: Any) -> None:
    join_browser(client, alice)
    session = client.session
    del session[marks.JOIN]
    session.save()
    client.post("/accounts/logout/")
    assert whoami(client) == {"user": "", "marked": True, "joined": False, "session": None}
    assert Join.objects.get().ended_at is None


def test_a_sign_out_that_leaves_the_session_alone_leaves_no_login(
    client: Client, alice: Any
) -> None:
    join_browser(client, alice)
    request: Any = client.get("/untouched/").wsgi_request
    user_logged_out.send(sender=type(alice), request=request, user=alice)
    request.session.save()
    assert whoami(client) == {"user": "", "marked": True, "joined": False, "session": None}
    assert marks.MARK not in client.session


def test_signals_without_a_request_or_a_session_are_nothing_to_us(alice: Any) -> None:
    for signal in (user_logged_in, user_logged_out):
        signal.send(sender=type(alice), request=None, user=alice)
        signal.send(sender=type(alice), request=RequestFactory().get("/"), user=alice)


def test_a_first_login_of_a_visitor_costs_nothing_of_ours(client: Client, alice: Any) -> None:
    session = client.session
    session["cart"] = "x"
    session.save()
    with CaptureQueriesContext(connection) as queries:
        client.get("/in/alice/")
    assert not [query for query in queries if "poppy" in query["sql"]]


# Purging.


def test_purging_deletes_what_is_long_over_and_no_mark(
    client: Client, alice: Any, time_machine: Any
) -> None:
    time_machine.move_to(NOW, tick=False)
    join_browser(client, alice)
    unused = ticket_path()
    ended = Client()
    join_browser(ended)
    ended.post("/accounts/logout/")
    assert purge_joins(NOW) == 0
    assert purge_joins(NOW + timedelta(seconds=1), dry_run=True) == 1
    assert purge_joins(NOW + timedelta(seconds=1)) == 1  # the one that was ended
    assert purge_joins(NOW + timedelta(seconds=61)) == 1  # the ticket that nobody used
    assert purge_joins(NOW + timedelta(hours=1)) == 0
    assert whoami(client)["user"] == "alice"
    assert client.get(unused, headers=TYPED).status_code == 400
    assert purge_joins(NOW + timedelta(hours=1, seconds=1)) == 1
    assert whoami(client) == {"user": "", "marked": True, "joined": False, "session": None}
