"""The cookie that marks an agent's browser: what it is, who may set it, and what it cannot do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.core.cache import cache
from django.core.signing import Signer
from django.db import connection
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext

from poppy_operations.browser import mark_cookies, marks
from poppy_operations.browser.mark_cookies import delete_in, seconds_left, set_in
from poppy_operations.browser.renewing import _lifetime_of
from tests.joins.joining import join_browser, whoami
from tests.shop.models import Effect

NOW = datetime(2026, 10, 8, 19, 20, tzinfo=UTC)
NAME = "sessionid_agent"


def mark(seconds: int = 3600) -> str:
    """The value of a cookie of this site."""
    response = HttpResponse()
    set_in(response, seconds)
    return response.cookies[NAME].value


def forged() -> str:
    """The value of a cookie of another site."""
    return Signer(key="another site's", salt="poppy_operations.browser.mark").sign("9999999999")


def request_with(header: str) -> Any:
    return RequestFactory().get("/", headers={"Cookie": header})


# What it is


def test_it_holds_a_moment_and_nothing_about_anybody(
    client: Client, alice: Any, time_machine: Any
) -> None:
    time_machine.move_to(NOW, tick=False)
    join_browser(client, alice)
    other = Client()
    join_browser(other)
    value = client.cookies[NAME].value
    assert value == other.cookies[NAME].value
    assert value.split(":")[0] == str(int(NOW.timestamp()) + 14 * 24 * 3600 + 2 * 3600)


def test_it_is_as_the_session_cookie_is_and_no_script_reads_it(
    settings: Any, client: Client
) -> None:
    settings.SESSION_COOKIE_NAME = "__Secure-visit"
    settings.SESSION_COOKIE_DOMAIN = ".shop.example"
    settings.SESSION_COOKIE_PATH = "/shop/"
    settings.SESSION_COOKIE_SECURE = True
    settings.SESSION_COOKIE_HTTPONLY = False
    settings.SESSION_COOKIE_SAMESITE = "Strict"
    join_browser(client)
    session, own = client.cookies["__Secure-visit"], client.cookies["__Secure-visit_agent"]
    for attribute in ("domain", "path", "secure", "samesite"):
        assert own[attribute] == session[attribute]
    assert own["httponly"] is True
    client.get("/end/log-out/")
    own = client.cookies["__Secure-visit_agent"]
    assert (own["path"], own["httponly"], own["max-age"]) == ("/shop/", True, 3600)


def test_a_shared_cache_gives_it_to_nobody_else(client: Client, settings: Any, alice: Any) -> None:
    settings.MIDDLEWARE = [
        "django.middleware.cache.UpdateCacheMiddleware",
        *settings.MIDDLEWARE,
        "django.middleware.cache.FetchFromCacheMiddleware",
    ]
    cache.clear()
    join_browser(client)
    del client.cookies[NAME]
    response = client.get("/public/")
    assert NAME in response.cookies
    assert "private" in response["Cache-Control"]
    assert "public" not in response["Cache-Control"]
    assert "Cookie" in response["Vary"]
    stranger = Client()
    assert NAME not in stranger.get("/public/").cookies
    assert whoami(stranger)["marked"] is False


@pytest.mark.parametrize("change", [partial(set_in, seconds=60), delete_in])
def test_an_answer_that_changes_the_cookie_is_this_browsers_alone(change: Any) -> None:
    response = HttpResponse()
    change(response)
    assert NAME in response.cookies
    assert (response["Vary"], response["Cache-Control"]) == ("Cookie", "private")


@pytest.mark.parametrize("signed_in", [True, False])
def test_ordinary_visitors_notice_nothing(client: Client, alice: Any, signed_in: bool) -> None:
    if signed_in:
        client.force_login(alice)
    for path in ("/untouched/", "/user/", "/end/clear/", "/accounts/logout/", "/in/alice/"):
        with CaptureQueriesContext(connection) as queries:
            response = client.post(path)
        assert NAME not in response.cookies
        assert not [query for query in queries if "poppy" in query["sql"]]
    if signed_in:
        client.force_login(alice)
    for path in ("/untouched/", '/tidy/?clear="cookies"'):
        with CaptureQueriesContext(connection) as queries:
            response = client.get(path)
        assert (len(queries), response.get("Vary")) == (0, "Accept-Language")
        assert NAME not in response.cookies


def test_asking_costs_no_query_where_the_cookie_says_it(client: Client) -> None:
    join_browser(client)
    request: Any = client.get("/untouched/").wsgi_request
    with CaptureQueriesContext(connection) as queries:
        assert marks.is_marked(request)
    assert len(queries) == 0


# Who may set it, and what it cannot do


@pytest.mark.parametrize(
    "header",
    [
        "{name}={ours}",
        "{name}={forged}; {name}={ours}",
        "{name}={ours}; {name}={forged}",
        "{name}={ours}; {name}=",
        "{name}={ours}; a=b; {name}; {name}={old}",
        "a=b,{name}={ours},{name}=x",
        "{name}=x; Path=/, {name} = {ours}",
    ],
)
def test_cookies_of_others_take_the_mark_from_nobody(header: str) -> None:
    values = {"name": NAME, "ours": mark(), "forged": forged(), "old": mark(-60)}
    assert marks.is_marked(request_with(header.format(**values)))


@pytest.mark.parametrize(
    "header",
    [
        "{name}={forged}",
        "{name}={old}",
        "{name}=9999999999",
        "{name}=",
        "{name}",
        "x{name}={ours}",
        "{name}x={ours}",
        "a={name}={ours}",
        "{name}={ours}x",
        "{name}={word}",
    ],
)
def test_a_cookie_that_is_not_ours_or_over_marks_nobody(header: str) -> None:
    word = Signer(salt="poppy_operations.browser.mark").sign("for ever")
    values = {"name": NAME, "ours": mark(), "forged": forged(), "old": mark(0), "word": word}
    assert not marks.is_marked(request_with(header.format(**values)))


def test_a_cookie_gives_nobody_a_session(client: Client, alice: Any) -> None:
    join_browser(client, alice)
    other = Client()
    other.cookies[NAME] = client.cookies[NAME].value
    assert whoami(other) == {"user": "", "marked": True, "joined": False, "session": None}
    assert whoami(client)["session"] == ["ses_1", str(alice.pk), True]


def test_a_site_without_sessions_has_marked_browsers(settings: Any, client: Client) -> None:
    join_browser(client)
    settings.MIDDLEWARE = ["poppy_operations.middleware.PersonalAgentMiddleware"]
    response = client.get("/poppy-facts/")
    assert response.json() == {"sid": None, "refusal": None, "marked": True}
    assert client.post("/transfer/").status_code == 403
    assert not Effect.objects.exists()


# Keys


def test_a_new_key_with_the_old_one_beside_it_marks_on_and_is_used(
    settings: Any, client: Client
) -> None:
    join_browser(client)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "new", [settings.SECRET_KEY]
    del client.cookies["sessionid"]
    assert whoami(client)["marked"] is True
    assert NAME not in client.get("/whoami/").cookies


def test_a_marked_session_gets_its_cookie_under_the_new_key(settings: Any, client: Client) -> None:
    join_browser(client)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "new", [settings.SECRET_KEY]
    assert NAME in client.get("/whoami/").cookies
    settings.SECRET_KEY_FALLBACKS = []
    assert marks.is_marked(request_with(f"{NAME}={client.cookies[NAME].value}"))


def test_a_new_key_without_the_old_one_ends_marks_as_it_ends_sessions(
    settings: Any, client: Client
) -> None:
    join_browser(client)
    settings.SECRET_KEY = "new"
    assert whoami(client) == {"user": "", "marked": False, "joined": False, "session": None}


# The two marks


def test_a_marked_session_without_the_cookie_gets_it(client: Client) -> None:
    join_browser(client)
    del client.cookies[NAME]
    assert NAME not in client.get("/untouched/").cookies  # nobody looked
    assert NAME in client.get("/whoami/").cookies


def test_with_an_error_of_the_server_nothing_becomes_of_the_cookie(
    client: Client, alice: Any
) -> None:
    join_browser(client, alice)
    del client.cookies[NAME]
    assert NAME not in client.get("/status/500/").cookies
    assert NAME in client.get("/status/404/").cookies


def test_a_session_that_is_over_needs_the_cookie_for_a_joins_lifetime() -> None:
    session = SessionStore()
    session.set_expiry(-60)
    assert _lifetime_of(session) == 3600
    session.set_expiry(timedelta(days=4000))
    assert _lifetime_of(session) == mark_cookies.LONGEST_COOKIE
    assert seconds_left(request_with("")) == 0
