"""No sign-out and no loss of a session unmarks an agent's browser, wherever it happens."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.sessions.models import Session as DjangoSession
from django.core.cache import cache
from django.db import connection, connections
from django.test import AsyncClient, Client

from poppy_operations.browser import marks
from poppy_operations.models import Join
from tests.joins.joining import ajoin_browser, join_browser, ticket_path, whoami
from tests.shop.endings import ENDINGS
from tests.shop.models import Effect

NOW = datetime(2026, 10, 8, 19, 20, tzinfo=UTC)
HOUR = timedelta(hours=1)
OURS = "poppy_operations.middleware.PersonalAgentMiddleware"
MODEL = "django.contrib.auth.backends.ModelBackend"
REMOTE = "django.contrib.auth.backends.RemoteUserBackend"


def stand(settings: Any, middleware: str, *, above: bool) -> None:
    """Put a middleware directly above ours or directly below it."""
    stack = list(settings.MIDDLEWARE)
    stack.insert(stack.index(OURS) + (not above), middleware)
    settings.MIDDLEWARE = stack


def assert_agents(client: Client, **headers: str) -> None:
    """The browser is an agent's: what needs approval is refused without."""
    refused = client.post("/transfer/", headers=headers)
    assert (refused.status_code, Effect.objects.count()) == (403, 0), refused.content
    assert client.get("/whoami/", headers=headers).json()["marked"] is True


def assert_a_persons(client: Client) -> None:
    """The browser is an ordinary visitor's: nothing needs approval."""
    assert client.post("/transfer/").text == "transferred"
    assert whoami(client)["marked"] is False


# Views and middleware


@pytest.mark.parametrize("how", ENDINGS)
@pytest.mark.parametrize("path", ["/end/{}/", "/aend/{}/", "/stream/{}/", "/stream/{}/?before"])
def test_no_view_unmarks_a_browser(
    client: Client, alice: Any, bob: Any, how: str, path: str
) -> None:
    join_browser(client, bob)
    answer = client.get(path.format(how))
    assert b"ended" in answer.getvalue()
    assert_agents(client)


@pytest.mark.parametrize("how", ENDINGS)
def test_no_view_unmarks_a_browser_by_an_error(
    client: Client, alice: Any, bob: Any, how: str
) -> None:
    join_browser(client, bob)
    assert client.get(f"/end/{how}/?status=500").status_code == 500
    assert_agents(client)


@pytest.mark.parametrize("how", ENDINGS)
def test_no_api_unmarks_a_browser(client: Client, alice: Any, bob: Any, how: str) -> None:
    join_browser(client, bob)
    assert client.post(f"/api-end/{how}/").json() == "ended"
    assert_agents(client)


@pytest.mark.parametrize("how", ENDINGS)
def test_no_api_unmarks_a_browser_whose_join_it_has_read(
    client: Client, alice: Any, bob: Any, how: str
) -> None:
    join_browser(client, bob)
    assert client.post(f"/signed-in-api-end/{how}/").json() == "bob"
    assert_agents(client)


def test_a_sign_out_by_an_api_is_one(client: Client, alice: Any) -> None:
    join_browser(client, alice)
    client.post("/signed-in-api-end/log-out/")
    assert client.cookies["sessionid_agent"]["max-age"] == 3600
    assert Join.objects.get().ended_because == "signed out"
    assert marks.MARK not in client.session


@pytest.mark.parametrize("header", ["End-Before", "End-After"])
@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("how", ENDINGS)
def test_no_middleware_unmarks_a_browser(
    settings: Any, client: Client, alice: Any, bob: Any, how: str, above: bool, header: str
) -> None:
    stand(settings, "tests.shop.endings.Ending", above=above)
    join_browser(client, bob)
    assert_agents(client, **{header: how})
    assert_agents(client)


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("how", ENDINGS)
@pytest.mark.django_db(transaction=True)
async def test_no_middleware_unmarks_a_browser_in_the_event_loop(
    settings: Any, async_client: AsyncClient, alice: Any, bob: Any, how: str, above: bool
) -> None:
    stand(settings, "tests.shop.endings.Ending", above=above)
    await ajoin_browser(async_client, await sync_to_async(ticket_path)(bob))
    for headers in ({"End-Before": how}, {}):
        refused = await async_client.post("/transfer/", headers=headers)
        assert refused.status_code == 403
        assert (await async_client.get("/whoami/")).json()["marked"] is True


@pytest.mark.parametrize("above", [True, False])
def test_a_password_changed_elsewhere_unmarks_nobody_who_reads_the_user(
    settings: Any, client: Client, alice: Any, above: bool
) -> None:
    stand(settings, "tests.shop.endings.Ending", above=above)
    join_browser(client, alice)
    alice.set_password("changed elsewhere")
    alice.save()
    assert client.get("/user/", headers={"End-Before": "read-user"}).text == ""
    assert_agents(client)


@pytest.mark.parametrize("engine", ["db", "cache", "cached_db", "file"])
@pytest.mark.parametrize("how", ENDINGS)
def test_no_session_store_unmarks_a_browser(
    settings: Any, tmp_path: Any, client: Client, alice: Any, bob: Any, engine: str, how: str
) -> None:
    settings.SESSION_ENGINE = f"django.contrib.sessions.backends.{engine}"
    settings.SESSION_FILE_PATH = str(tmp_path)
    join_browser(client, bob)
    client.get(f"/end/{how}/")
    assert_agents(client)


@pytest.mark.parametrize("how", ["clear", "delete-keys", "delete-all-but-the-login", "flush"])
def test_a_session_that_is_emptied_stays_marked_itself(client: Client, bob: Any, how: str) -> None:
    join_browser(client, bob)
    client.get(f"/end/{how}/")
    assert client.session[marks.MARK] is True


def test_a_login_is_still_the_joins_when_the_rest_of_the_session_is_deleted(
    client: Client, bob: Any
) -> None:
    join_browser(client, bob)
    client.get("/end/delete-all-but-the-login/")
    assert whoami(client)["session"] == ["ses_1", str(bob.pk), True]
    Join.objects.update(expires_at=NOW - HOUR)
    assert client.get("/user/").text == ""


def test_a_login_of_its_own_is_not_the_joins_when_the_session_is_deleted_later(
    client: Client, alice: Any
) -> None:
    join_browser(client, alice)
    client.get("/end/log-in/")
    client.get("/end/delete-all-but-the-login/")
    assert whoami(client) == {"user": "alice", "marked": True, "joined": True, "session": None}


# Cookies that are taken away


@pytest.mark.parametrize("query", ["", "out", "status=500", "out&status=500"])
def test_a_view_that_deletes_every_cookie_leaves_the_mark(
    client: Client, alice: Any, query: str
) -> None:
    join_browser(client, alice)
    response = client.get(f"/tidy/?{query}")
    assert response.cookies["sessionid"]["max-age"] == 0
    assert_agents(client)


@pytest.mark.parametrize("how", ["session", "cookie"])
@pytest.mark.parametrize(
    ("clear", "left"),
    [
        ('"cookies"', None),
        ('"cache", "cookies","storage"', '"cache", "storage"'),
        ('"*"', '"cache", "clientHints", "executionContexts", "storage"'),
        ('"cache"', '"cache"'),
    ],
)
def test_an_agents_browser_is_not_told_to_clear_its_cookies(
    client: Client, alice: Any, clear: str, left: str | None, how: str
) -> None:
    join_browser(client, alice)
    del client.cookies["sessionid" if how == "cookie" else "sessionid_agent"]
    client.get("/user/")
    assert client.get(f"/tidy/?out&clear={clear}").get("Clear-Site-Data") == left
    assert_agents(client)


def test_an_ordinary_visitors_browser_clears_whatever_the_site_says(
    client: Client, alice: Any
) -> None:
    client.force_login(alice)
    client.cookies["sessionid_agent"] = "of another site"
    response = client.get('/tidy/?out&clear="*"')
    assert response["Clear-Site-Data"] == '"*"'
    assert response.cookies["sessionid_agent"]["max-age"] == 0


# Sign-on by a header


@pytest.fixture(params=["RemoteUserMiddleware", "PersistentRemoteUserMiddleware"])
def sign_on(request: pytest.FixtureRequest, settings: Any) -> Callable[..., None]:
    """Sign browsers on by a header of the server, above our middleware or below it."""

    def install(*, above: bool, backends: list[str]) -> None:
        stand(settings, f"django.contrib.auth.middleware.{request.param}", above=above)
        settings.AUTHENTICATION_BACKENDS = backends

    return install


BACKENDS = [[MODEL, REMOTE], [REMOTE, MODEL], [REMOTE]]


@pytest.mark.parametrize("backends", BACKENDS)
@pytest.mark.parametrize("above", [True, False])
def test_a_browser_signed_on_as_alice_and_joined_for_bob_is_an_agents(
    sign_on: Callable[..., None], alice: Any, bob: Any, above: bool, backends: list[str]
) -> None:
    sign_on(above=above, backends=backends)
    client = Client(REMOTE_USER="alice")
    path = ticket_path(bob)
    client.get("/user/")
    joined = client.post(path, headers={"Sec-Fetch-Site": "same-origin"})
    assert joined.status_code == 303
    assert client.get("/user/").text == "alice"
    assert_agents(client)


@pytest.mark.parametrize("backends", BACKENDS)
@pytest.mark.parametrize("above", [True, False])
def test_a_script_that_signs_out_where_a_header_signs_on_again_is_an_agents(
    sign_on: Callable[..., None], alice: Any, above: bool, backends: list[str]
) -> None:
    sign_on(above=above, backends=backends)
    client = Client(REMOTE_USER="alice")
    joined = client.post(ticket_path(alice), headers={"Sec-Fetch-Site": "same-origin"})
    assert joined.status_code == 303
    client.post("/accounts/logout/")
    assert client.get("/user/").text == "alice"
    assert_agents(client)


@pytest.mark.parametrize("backends", BACKENDS)
@pytest.mark.parametrize("above", [True, False])
def test_a_sign_on_in_the_request_of_the_sign_out_stays_an_agents(
    sign_on: Callable[..., None],
    alice: Any,
    bob: Any,
    above: bool,
    backends: list[str],
    time_machine: Any,
) -> None:
    time_machine.move_to(NOW, tick=False)
    sign_on(above=above, backends=backends)
    client = Client(REMOTE_USER="alice")
    client.post(ticket_path(bob), headers={"Sec-Fetch-Site": "same-origin"})
    assert client.get("/user/").text == "alice"
    time_machine.shift(2 * HOUR)
    assert_agents(client)
    assert client.session[marks.MARK] is True


@pytest.mark.parametrize("backends", BACKENDS)
@pytest.mark.parametrize("above", [True, False])
@pytest.mark.django_db(transaction=True)
async def test_header_sign_on_in_the_event_loop_unmarks_nobody(
    sign_on: Callable[..., None],
    async_client: AsyncClient,
    alice: Any,
    bob: Any,
    above: bool,
    backends: list[str],
) -> None:
    sign_on(above=above, backends=backends)
    path = await sync_to_async(ticket_path)(bob)
    headers = {"Remote-User": "alice"}
    site = {"Sec-Fetch-Site": "same-origin", **headers}
    assert (await async_client.post(path, headers=site)).status_code == 303
    assert (await async_client.get("/user/", headers=headers)).text == "alice"
    assert (await async_client.post("/transfer/", headers=headers)).status_code == 403
    assert (await async_client.get("/whoami/", headers=headers)).json()["marked"] is True


def test_a_join_is_not_signed_out_by_header_sign_on_without_a_header(
    sign_on: Callable[..., None], client: Client, bob: Any
) -> None:
    sign_on(above=False, backends=[REMOTE, MODEL])
    join_browser(client, bob)
    assert whoami(client)["session"] == ["ses_1", str(bob.pk), True]


# The session goes where nobody sees it


def _delete(client: Client) -> None:
    DjangoSession.objects.all().delete()


def _expire(client: Client) -> None:
    DjangoSession.objects.update(expire_date=datetime(2020, 1, 1, tzinfo=UTC))


def _close_the_browser(client: Client) -> None:
    del client.cookies["sessionid"]


def _replace_the_cookie(client: Client) -> None:
    client.cookies["sessionid"] = "x" * 32


@pytest.mark.parametrize("lose", [_delete, _expire, _close_the_browser, _replace_the_cookie])
def test_a_session_that_is_gone_leaves_the_mark(
    client: Client, alice: Any, lose: Callable[[Client], None]
) -> None:
    join_browser(client, alice)
    lose(client)
    assert_agents(client)
    client.get("/in/alice/")
    assert_agents(client)


def test_a_cache_that_is_emptied_leaves_the_mark(settings: Any, client: Client, alice: Any) -> None:
    settings.SESSION_ENGINE = "django.contrib.sessions.backends.cache"
    join_browser(client, alice)
    cache.clear()
    assert_agents(client)


def test_a_session_that_is_gone_in_a_site_of_two_session_cookies_leaves_the_mark(
    settings: Any, client: Client, alice: Any
) -> None:
    settings.MIDDLEWARE = [
        "tests.browser.test_sign_outs.OtherCookie" if name.endswith(".SessionMiddleware") else name
        for name in settings.MIDDLEWARE
    ]
    join_browser(client, alice)
    assert client.cookies["other"].value
    assert whoami(client)["session"] == ["ses_1", str(alice.pk), True]
    client.get("/end/log-out/")
    assert_agents(client)


class OtherCookie:
    """A site's own session middleware, whose cookie has another name."""

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response

    def __call__(self, request: Any) -> Any:
        from django.contrib.sessions.backends.db import SessionStore

        request.session = SessionStore(request.COOKIES.get("other"))
        response = self.get_response(request)
        if request.session.modified and not request.session.is_empty():
            request.session.save()
            response.set_cookie("other", request.session.session_key)
        return response


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("left", ["sessionid", "sessionid_agent"])
async def test_either_mark_alone_takes_djangos_transaction_off_a_gated_view(
    monkeypatch: pytest.MonkeyPatch, client: Client, async_client: AsyncClient, left: str
) -> None:
    monkeypatch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", True)
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
    await sync_to_async(join_browser)(client)
    for one in (client, async_client):
        one.cookies[left] = client.cookies[left].value
    del client.cookies["sessionid" if left == "sessionid_agent" else "sessionid_agent"]
    off = {"atomic": False, "off": ["default"]}
    assert (await sync_to_async(client.post)("/again/function/")).json() == off
    assert (await async_client.post("/again/function/")).json() == off
    async_client.cookies.clear()
    assert (await async_client.post("/again/function/")).json() == {"atomic": True, "off": []}


# How long


@pytest.mark.parametrize("how", ["log-out", "/accounts/logout/"])
def test_a_person_gets_the_browser_back_a_joins_lifetime_after_the_sign_out(
    client: Client, alice: Any, how: str, time_machine: Any
) -> None:
    time_machine.move_to(NOW, tick=False)
    join_browser(client, alice)
    time_machine.shift(HOUR / 2)
    client.post(how) if how.startswith("/") else client.get(f"/end/{how}/")
    assert client.cookies["sessionid_agent"]["max-age"] == 3600
    time_machine.shift(HOUR / 2)
    client.get("/in/alice/")
    time_machine.shift(HOUR / 2 - timedelta(seconds=1))
    assert_agents(client)
    time_machine.shift(timedelta(seconds=1))
    assert_a_persons(client)


def test_what_happens_after_the_sign_out_makes_it_no_longer(
    client: Client, alice: Any, time_machine: Any
) -> None:
    time_machine.move_to(NOW, tick=False)
    join_browser(client, alice)
    client.post("/accounts/logout/")
    for _ in range(3):
        time_machine.shift(HOUR / 4)
        assert_agents(client)
        client.get("/in/alice/")
        client.post("/accounts/logout/")
    time_machine.shift(HOUR / 4)
    assert_a_persons(client)


def test_the_cookie_outlives_a_lost_session_by_a_joins_lifetime(
    settings: Any, client: Client, alice: Any, time_machine: Any
) -> None:
    settings.SESSION_COOKIE_AGE = 1000
    time_machine.move_to(NOW, tick=False)
    join_browser(client, alice)
    time_machine.shift(timedelta(seconds=1000 + 3599))
    assert_agents(client)
    time_machine.shift(timedelta(seconds=3601))
    assert_a_persons(client)


def test_a_sign_out_after_the_session_was_lost_is_one(
    client: Client, alice: Any, time_machine: Any
) -> None:
    time_machine.move_to(NOW, tick=False)
    join_browser(client, alice)
    DjangoSession.objects.all().delete()
    client.post("/accounts/logout/")
    time_machine.shift(HOUR - timedelta(seconds=1))
    assert_agents(client)
    time_machine.shift(timedelta(seconds=1))
    assert_a_persons(client)


@pytest.mark.parametrize("every_request", [True, False])
def test_the_cookie_is_renewed_with_the_session(
    settings: Any, client: Client, alice: Any, every_request: bool, time_machine: Any
) -> None:
    settings.SESSION_COOKIE_AGE = 7200
    settings.SESSION_SAVE_EVERY_REQUEST = every_request
    time_machine.move_to(NOW, tick=False)
    join_browser(client, alice)
    for _ in range(5):
        time_machine.shift(1.5 * HOUR)
        client.get("/untouched/" if every_request else "/end/clear/")
    DjangoSession.objects.all().delete()
    time_machine.shift(3 * HOUR - timedelta(seconds=1))
    assert_agents(client)


def test_not_every_answer_brings_the_cookie(client: Client, alice: Any, time_machine: Any) -> None:
    time_machine.move_to(NOW, tick=False)
    assert "sessionid_agent" in join_browser(client, alice).cookies
    assert "sessionid_agent" not in client.get("/whoami/").cookies
    time_machine.shift(HOUR)
    assert "sessionid_agent" not in client.get("/whoami/").cookies
    time_machine.shift(timedelta(seconds=1))
    assert "sessionid_agent" in client.get("/whoami/").cookies


def test_a_session_that_lives_for_ever_has_a_cookie_that_browsers_keep(
    settings: Any, client: Client, alice: Any
) -> None:
    settings.SESSION_COOKIE_AGE = 10**9
    join_browser(client, alice)
    assert client.cookies["sessionid_agent"]["max-age"] == 400 * 24 * 3600
    assert_agents(client)
