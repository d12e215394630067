"""The official client from another process, over streamable HTTP and over stdio (4, 6, 7)."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult

from example_project.tour.commands import PROJECT
from example_project.tour.server import Server
from poppy_operations.protocol.wire import MCP_APPROVAL
from tests.agents import approval_of
from tests.example.callers import AGENT, Books, Caller
from tests.mcp.clients import operation_in, text_of
from tests.mcp.stdio_company import HEADERS

pytestmark = pytest.mark.servers
EXCHANGE = {
    "order_id": "ord_7Hk2",
    "item_id": "itm_4Qa",
    "replacement_sku": "stormline-insulated-m",
}
DEATH = "death"  # tests.mcp.served.DEATH, which belongs to another site
TOGETHER = 12
PATIENCE_S = 40
LOOK_AGAIN_S = 0.2
SERVED = (
    "-m",
    "uvicorn",
    "tests.mcp.served:application",
    "--host=127.0.0.1",
    "--port={port}",
    "--log-level=warning",
    "--workers=2",
)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """The demo shop with two processes, and a tool that can be killed."""
    with Server(SERVED) as running:
        keys = running.folder / "agent.jwks.json"
        keys.write_text(json.dumps(AGENT.jwks))
        running.command("poppy_agents", "add", AGENT.client_id, "--jwks", str(keys))
        yield running


@pytest.fixture
def books(server: Server) -> Books:
    """What happens at the shop, which has just begun."""
    server.command("demo_seed", "--reset")
    return Books(server)


@pytest.fixture
def alice(books: Books) -> Caller:
    """Alice's agent, to which she is a new User in each test."""
    return books.signed_in("alice", f"usr_{time.monotonic_ns()}")


class Signed(httpx2.Auth):
    """Headers of a Session for each request."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller

    def auth_flow(self, request: httpx2.Request) -> Any:
        request.headers.update(headers_of(self.caller))
        yield request


def headers_of(caller: Caller) -> dict[str, str]:
    """New headers of the caller's Session."""
    return caller.keys.headers(
        user_id=caller.user_id, sid=caller.sid, audience=caller.shop, access_token=caller.token
    )


@asynccontextmanager
async def over_http(caller: Caller, mode: str = "auto") -> AsyncIterator[Client]:
    """A client of the running server."""
    async with (
        httpx2.AsyncClient(auth=Signed(caller), timeout=PATIENCE_S) as http,
        Client(streamable_http_client(f"{caller.shop}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


async def call(
    client: Client,
    approval: Mapping[str, Any] | None = None,
    tool: str = "exchange_item",
    meta: Mapping[str, Any] | None = None,
    **arguments: Any,
) -> CallToolResult:
    """Call a tool, with an approval or without."""
    sent = {**(meta or {}), **({} if approval is None else {MCP_APPROVAL: approval})}
    return await client.call_tool(tool, {**EXCHANGE, **arguments}, meta=sent)  # type: ignore[arg-type]


@pytest.mark.requirement("OPS-4-10", "OPS-4-11", "OPS-6-24", "OPS-6-51", "OPS-7-02")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_gets_through_the_story_over_http(mode: str, books: Books, alice: Caller) -> None:
    async def story() -> None:
        async with over_http(alice, mode) as client:
            (tool, _deadly) = (await client.list_tools()).tools
            assert tool.name == "exchange_item"
            assert "Needs an approval" in (tool.description or "")
            operation = operation_in(await call(client))
            assert operation["terms"]["price_difference"]["amount"] == "70.00"
            assert books.effects()["exchange"] == 0
            done = await call(client, approval_of(operation))
            assert not done.is_error, done
            assert (done.structured_content or {})["replacement_sku"] == "stormline-insulated-m"
        async with over_http(alice, mode) as client:
            again = await call(client, approval_of(operation))
            assert again.structured_content == done.structured_content
            assert text_of(again) == text_of(done)
            other = await call(client, approval_of(operation), item_id="itm_none")
            assert not other.is_error  # what was performed is told first
            wrong = await call(client, item_id="itm_none")
            assert wrong.is_error
            assert "item_id" in text_of(wrong)

    asyncio.run(story())
    assert books.effects()["exchange"] == 1


@pytest.mark.requirement("OPS-7-01")
def test_twelve_calls_at_once_with_one_approval_have_one_effect(
    books: Books, alice: Caller
) -> None:
    async def race() -> list[CallToolResult]:
        async with over_http(alice) as client:
            operation = operation_in(await call(client))
            approval = approval_of(operation)
            return await asyncio.gather(*(call(client, approval) for _ in range(TOGETHER)))

    results = asyncio.run(race())
    assert not any(one.is_error for one in results)
    done = {text_of(one) for one in results if "in progress" not in text_of(one)}
    assert len(done) == 1
    assert books.effects()["exchange"] == 1


@pytest.mark.requirement("OPS-7-16", "OPS-7-08")
def test_a_call_whose_server_is_killed_happens_once(
    server: Server, books: Books, alice: Caller
) -> None:
    async def repeated(approval: Mapping[str, Any]) -> CallToolResult:
        async with over_http(alice) as client:
            return await call(client, approval, "deadly_exchange")

    async def ask() -> dict[str, Any]:
        async with over_http(alice) as client:
            return operation_in(await call(client, tool="deadly_exchange"))

    approval = approval_of(asyncio.run(ask()))
    (server.folder / DEATH).touch()
    with pytest.raises(Exception):  # noqa: B017, PT011  whatever a client makes of a lost server
        asyncio.run(repeated(approval))
    assert books.effects()["exchange"] == 0

    def is_done() -> bool:
        try:
            result = asyncio.run(repeated(approval))
        except Exception:  # noqa: BLE001  the new process is not there yet
            return False
        assert not result.is_error, result
        return "Exchanged." in text_of(result)

    until(is_done)
    assert books.effects()["exchange"] == 1


def until(is_so: Callable[[], bool]) -> None:
    """Wait for other processes."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(LOOK_AGAIN_S)


def test_nobody_is_served_beside_the_sessions_account(books: Books, alice: Caller) -> None:
    bob = books.signed_in("bob", "usr_bob")

    async def tried() -> tuple[CallToolResult, CallToolResult]:
        async with over_http(bob) as client:
            foreign = await call(client)
        async with over_http(alice) as client:
            return foreign, await call(client)

    foreign, own = asyncio.run(tried())
    assert foreign.is_error
    assert "Not found" in text_of(foreign)
    assert operation_in(own)


def test_django_is_served_beside_it(books: Books, server: Server) -> None:
    for path, status in (
        ("/", 200),
        ("/static/shop/shop.css", 200),
        ("/mcpx", 404),
        ("/.well-known/poppy.json", 200),
    ):
        assert httpx2.get(f"{server.url}{path}").status_code == status
    document = httpx2.get(f"{server.url}/.well-known/poppy.json").json()
    assert document["mcp"] == {"url": f"{server.url}/mcp"}
    assert httpx2.put(f"{server.url}/mcp").status_code == 405


def test_a_missing_scope_is_challenged_at_the_http_answer(books: Books, alice: Caller) -> None:
    signed_out = Caller(alice.shop, None, alice.user_id)
    call_it = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    params = {"name": "exchange_item", "arguments": EXCHANGE}
    accept = {"Accept": "application/json, text/event-stream"}
    answer = httpx2.post(
        f"{alice.shop}/mcp",
        json={**call_it, "params": params},
        headers={**headers_of(signed_out), **accept},
    )

    assert answer.status_code == 401
    assert "resource_metadata=" in answer.headers["WWW-Authenticate"]
    assert answer.json()["error"]["data"] == {"error": "sign_in_required"}


@pytest.mark.requirement("OPS-4-10", "OPS-6-24", "OPS-7-02")
def test_a_client_gets_through_the_story_over_stdio(
    server: Server, books: Books, alice: Caller
) -> None:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "tests.mcp.over_stdio"],
        cwd=PROJECT,
        env={**server._environment, "DJANGO_SETTINGS_MODULE": ""},
    )

    async def story() -> None:
        async with Client(stdio_client(parameters)) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["exchange_item"]
            nobody = await call(client)
            assert (nobody.structured_content or {})["error"] == "invalid_session"
            operation = operation_in(await call(client, meta={HEADERS: headers_of(alice)}))
            approval = approval_of(operation)
            results = await asyncio.gather(
                *(
                    call(client, approval, meta={HEADERS: headers_of(alice)})
                    for _ in range(TOGETHER)
                )
            )
            assert not any(one.is_error for one in results), results
            again = await call(client, approval, meta={HEADERS: headers_of(alice)})
            assert (again.structured_content or {})["item_id"] == EXCHANGE["item_id"]

    asyncio.run(story())
    assert books.effects()["exchange"] == 1
