"""The middleware: nothing for ordinary visitors, and a transaction for each who had one."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from asgiref.sync import iscoroutinefunction, sync_to_async
from django.db import connection, connections, transaction
from django.test import AsyncClient, Client, RequestFactory
from django.test.utils import CaptureQueriesContext

from poppy_operations import gated_handlers
from poppy_operations.atomic_requests import atomic_aliases, never_atomic
from poppy_operations.middleware import PersonalAgentMiddleware
from poppy_operations.models import Agent
from tests.connections import close_this_threads_connection
from tests.joins.joining import agent_headers, join_browser
from tests.shop.gated import ASYNC_NAMES, NAMES, as_views

HEADERS = [
    {"Poppy-Session": "x"},
    {"Poppy-Session": ""},
    {"Poppy-Approval": "x"},
    {"Authorization": "Bearer x"},
]
# Where one handler answers every method, an agent's other requests keep their transaction too,
# because the gate says which methods are its own.
WITH_GET = ["function", "class", "dispatching", "api-view", "viewset", "api-function", "method"]


@pytest.fixture
def in_cache(settings: Any) -> None:
    settings.SESSION_ENGINE = "django.contrib.sessions.backends.cache"


@pytest.fixture
def deferred(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let threads open transactions side by side also in SQLite's memory."""
    if connection.vendor == "sqlite":
        options = connections.settings["default"]["OPTIONS"]
        monkeypatch.setitem(options, "transaction_mode", "DEFERRED")


# request.poppy


def test_every_request_knows_the_session_that_it_shows(client: Client) -> None:
    assert client.get("/poppy-facts/").json() == {"sid": None, "refusal": None, "marked": False}
    served = client.get("/poppy-facts/", headers=agent_headers())
    assert served.json() == {"sid": "ses_1", "refusal": None, "marked": False}
    refused = client.get("/poppy-facts/", headers={"Poppy-Session": "x"})
    assert refused.json() == {"sid": None, "refusal": "InvalidSession", "marked": False}
    join_browser(client)
    assert client.get("/poppy-facts/").json() == {"sid": None, "refusal": None, "marked": True}


def test_the_session_is_verified_when_it_is_asked_for_and_once(client: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        client.get("/untouched/", headers=agent_headers())
    assert len(queries) == 0
    with CaptureQueriesContext(connection) as queries:
        client.get("/poppy-facts/", headers=agent_headers())
    assert [query for query in queries if Agent._meta.db_table in query["sql"]] == list(queries)
    assert len(queries) == 1


# Ordinary visitors


@pytest.mark.usefixtures("atomic_requests")
def test_a_visitor_costs_no_query_and_without_a_cookie_no_vary(client: Client) -> None:
    for path in ("/untouched/", "/again/function/"):
        with CaptureQueriesContext(connection) as queries:
            response = client.post(path)
        assert [q for q in queries if "SAVEPOINT" not in q["sql"]] == []
        assert "Cookie" not in response.get("Vary", "")


@pytest.mark.usefixtures("atomic_requests")
def test_a_visitor_with_a_cookie_costs_one_session_read_on_gated_views(
    client: Client, alice: Any
) -> None:
    client.force_login(alice)
    for path, expected in (("/untouched/", 0), ("/again/ungated/", 0), ("/again/function/", 1)):
        with CaptureQueriesContext(connection) as queries:
            client.post(path)
        read = [q for q in queries if "SAVEPOINT" not in q["sql"]]
        assert len(read) == expected
        assert all("django_session" in query["sql"] for query in read)


def test_without_atomic_requests_a_visitors_session_is_not_read(client: Client, alice: Any) -> None:
    client.force_login(alice)
    with CaptureQueriesContext(connection) as queries:
        client.post("/again/function/")
    assert len(queries) == 0


# ATOMIC_REQUESTS


@pytest.mark.usefixtures("atomic_requests")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", NAMES)
class TestSynchronousViews:
    @pytest.mark.parametrize("headers", HEADERS, ids=["session", "empty", "approval", "token"])
    def test_an_agents_gated_request_is_in_no_transaction_and_the_next_visitors_is(
        self, client: Client, name: str, headers: dict[str, str]
    ) -> None:
        path = f"/again/{name}/"
        assert client.post(path).json() == {"atomic": True, "off": []}
        facts = client.post(path, headers=headers).json()
        assert facts == {"atomic": False, "off": ["default"]}
        assert client.post(path).json() == {"atomic": True, "off": []}

    def test_a_marked_browsers_is_an_agents(self, client: Client, name: str) -> None:
        join_browser(client)
        facts = client.post(f"/again/{name}/").json()
        assert facts == {"atomic": False, "off": ["default"]}
        assert Client().post(f"/again/{name}/").json() == {"atomic": True, "off": []}

    def test_other_methods_keep_their_transaction(self, client: Client, name: str) -> None:
        if name in WITH_GET:
            client.post(f"/again/{name}/", headers=HEADERS[0])
            answer = client.get(f"/again/{name}/", headers=HEADERS[0])
            assert answer.json() == {"atomic": True, "off": []}

    async def test_the_same_holds_in_the_event_loop(
        self, async_client: AsyncClient, name: str
    ) -> None:
        path = f"/again/{name}/"
        assert (await async_client.post(path)).json() == {"atomic": True, "off": []}
        facts = (await async_client.post(path, headers=HEADERS[0])).json()
        assert facts == {"atomic": False, "off": ["default"]}
        await sync_to_async(_join)(async_client)
        facts = (await async_client.post(path)).json()
        assert facts == {"atomic": False, "off": ["default"]}
        async_client.cookies.clear()
        assert (await async_client.post(path)).json() == {"atomic": True, "off": []}


def _join(client: AsyncClient) -> None:
    browser = Client()
    join_browser(browser)
    client.cookies["sessionid"] = browser.cookies["sessionid"].value


@pytest.mark.usefixtures("atomic_requests")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ASYNC_NAMES)
class TestAsynchronousViews:
    """Django refuses these to visitors under ATOMIC_REQUESTS, with or without us."""

    async def test_an_agents_gated_request_is_served(
        self, async_client: AsyncClient, name: str
    ) -> None:
        answer = await async_client.post(f"/again/{name}/", headers=HEADERS[0])
        assert answer.json()["off"] == ["default"]
        with pytest.raises(RuntimeError, match="ATOMIC_REQUESTS"):
            await async_client.post(f"/again/{name}/")

    def test_also_under_wsgi(self, client: Client, name: str) -> None:
        answer = client.post(f"/again/{name}/", headers=HEADERS[0])
        assert answer.json()["off"] == ["default"]
        with pytest.raises(RuntimeError, match="ATOMIC_REQUESTS"):
            client.post(f"/again/{name}/")


@pytest.mark.usefixtures("atomic_requests")
@pytest.mark.django_db(transaction=True)
def test_ungated_views_keep_their_transaction_for_agents(client: Client) -> None:
    answer = client.post("/again/ungated/", headers=HEADERS[0])
    assert answer.json() == {"atomic": True, "off": []}


@pytest.mark.usefixtures("atomic_requests")
@pytest.mark.django_db(transaction=True)
def test_a_gate_may_cover_reading_methods(client: Client) -> None:
    answer = client.get("/again/reading/", headers=HEADERS[0])
    assert answer.json() == {"atomic": False, "off": ["default"]}


@pytest.mark.usefixtures("atomic_requests")
@pytest.mark.django_db(transaction=True)
def test_what_the_site_made_non_atomic_stays_so(client: Client) -> None:
    for headers in ({}, HEADERS[0]):
        answer = client.post("/again/site-non-atomic/", headers=headers)
        assert answer.json() == {"atomic": False, "off": []}


@pytest.mark.usefixtures("atomic_requests")
@pytest.mark.django_db(transaction=True)
def test_a_callable_without_attributes_keeps_its_transaction(client: Client) -> None:
    answer = client.post("/again/slotted/", headers=HEADERS[0])
    assert answer.json() == {"atomic": True, "off": []}


def test_nothing_is_switched_where_django_opens_no_transaction(client: Client) -> None:
    answer = client.post("/again/class/", headers=HEADERS[0])
    assert answer.json()["off"] == []


def test_a_head_is_answered_by_get() -> None:
    class Reading:
        def get(self) -> None: ...

        get.poppy_gate = frozenset({"HEAD"})

    def callback() -> None: ...

    callback.view_class = Reading
    assert gated_handlers.gated_handler(callback, "HEAD") is True
    assert gated_handlers.gated_handler(callback, "GET") is False
    assert gated_handlers.gated_handler(callback, "PATCH") is False
    assert gated_handlers.gated_handler(callback, None) is False


def test_a_handler_with_a_closure_is_not_taken_for_an_api_view() -> None:
    assert gated_handlers.gated_handler(as_views("class"), "GET") is False


@pytest.mark.slow
@pytest.mark.usefixtures("atomic_requests", "in_cache", "deferred")
@pytest.mark.django_db(transaction=True)
def test_eight_threads_of_agents_and_visitors_each_get_their_own() -> None:
    paths = [f"/again/{name}/" for name in NAMES]

    def ask(number: int) -> list[str]:
        client, wrong = Client(), []
        for turn in range(40):
            path = paths[(number + turn) % len(paths)]
            is_agents = (number + turn // 2) % 2 == 0
            facts = client.post(path, headers=HEADERS[0] if is_agents else {}).json()
            if facts != {"atomic": not is_agents, "off": ["default"] if is_agents else []}:
                wrong.append(path)
        close_this_threads_connection()
        return wrong

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(ask, range(8))) == [[]] * 8


@pytest.mark.slow
@pytest.mark.usefixtures("atomic_requests", "in_cache", "deferred")
@pytest.mark.django_db(transaction=True)
async def test_tasks_of_agents_and_visitors_each_get_their_own() -> None:
    async def ask(number: int) -> list[str]:
        client, wrong = AsyncClient(), []
        for turn in range(10):
            path = f"/again/{NAMES[(number + turn) % len(NAMES)]}/"
            is_agents = (number + turn // 2) % 2 == 0
            answer = await client.post(path, headers=HEADERS[0] if is_agents else {})
            if answer.json()["off"] != (["default"] if is_agents else []):
                wrong.append(path)
        return wrong

    assert await asyncio.gather(*(ask(number) for number in range(9))) == [[]] * 9


@pytest.mark.usefixtures("atomic_requests")
@pytest.mark.django_db(transaction=True)
def test_a_middleware_for_threads_alone_may_stand_between(settings: Any) -> None:
    # Django then calls our middleware in a thread, and its process_view from the loop.
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "tests.browser.test_middleware.only_threads"]

    async def ask(headers: dict[str, str]) -> Any:
        return (await AsyncClient().post("/again/function/", headers=headers)).json()["off"]

    async def all_of_them() -> list[Any]:
        return [await ask({}), await ask(HEADERS[0]), await ask({})]

    assert asyncio.run(all_of_them()) == [[], ["default"], []]


def only_threads(get_response: Any) -> Any:
    return lambda request: get_response(request)


# A test's own transaction


@pytest.mark.usefixtures("atomic_requests")
@pytest.mark.parametrize("kind", ["missing", "failing"])
def test_errors_in_rest_framework_views_leave_a_tests_transaction_usable(
    client: Client, kind: str
) -> None:
    answer = client.post(f"/again/raising/{kind}/", headers=HEADERS[0])
    assert answer.status_code == (404 if kind == "missing" else 500)
    assert connection.needs_rollback is False
    assert Agent.objects.count() == 1


@pytest.mark.usefixtures("atomic_requests")
async def test_errors_leave_a_tests_transaction_usable_in_the_event_loop(
    async_client: AsyncClient,
) -> None:
    answer = await async_client.post("/again/raising/missing/", headers=HEADERS[0])
    assert answer.status_code == 404
    assert await sync_to_async(lambda: connection.needs_rollback)() is False


@pytest.mark.usefixtures("atomic_requests")
def test_a_success_takes_nothing_back(client: Client) -> None:
    with transaction.atomic():
        assert client.post("/again/api-view/", headers=HEADERS[0]).status_code == 200
        assert connection.needs_rollback is False


# The middleware itself


def test_it_is_asynchronous_where_the_site_is() -> None:
    async def aget_response(request: Any) -> Any: ...

    def get_response(request: Any) -> Any: ...

    in_loop, in_thread = (
        PersonalAgentMiddleware(aget_response),
        PersonalAgentMiddleware(get_response),
    )
    assert iscoroutinefunction(in_loop)
    assert iscoroutinefunction(in_loop.process_view)
    assert not iscoroutinefunction(in_thread)
    assert not iscoroutinefunction(in_thread.process_view)


def test_a_site_without_sessions_and_users_is_served() -> None:
    from django.http import HttpResponse

    middleware = PersonalAgentMiddleware(lambda request: HttpResponse("served"))
    answer: Any = middleware(RequestFactory().get("/"))
    assert answer.content == b"served"


def test_our_own_views_are_in_no_transaction() -> None:
    def view() -> None: ...

    marked: Any = never_atomic(view)
    assert "any alias" in marked._non_atomic_requests
    assert atomic_aliases(marked) == ()
