"""The same decorator under FastMCP, with the real package; what it cannot do is on the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from asgiref.sync import async_to_sync
from fastmcp import Client as FastClient
from fastmcp import Context, FastMCP
from fastmcp.server.middleware import Middleware
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult
from pydantic import BaseModel

from poppy_operations import Action, operation_of
from poppy_operations.declarations.registry import registry
from poppy_operations.mcp import beside_django, django_tool, session_of
from poppy_operations.protocol.wire import MCP_APPROVAL
from tests.agents import SessionOf, approval_of
from tests.mcp.clients import JACKET, URL, Headers, no_django, operation_in, text_of
from tests.mcp.servers import fixed_terms
from tests.shop.models import Effect, Item

pytestmark = [pytest.mark.packages, pytest.mark.django_db]
Effects = Callable[[], list[str]]


class Made(BaseModel):
    """What a tool returns."""

    sku: str
    note: str | None = None


class Shop:
    """A server of FastMCP, and an action for its tools."""

    def __init__(self, action: Action, session: SessionOf) -> None:
        self.action = action
        self.session = session
        self.server: Any = FastMCP("shop", middleware=[Noting()])
        self.answers: list[httpx2.Response] = []

    def call(self, approval: Any = None, **arguments: Any) -> CallToolResult:
        """Call the tool by the official client."""
        return async_to_sync(self.acall)(approval, **arguments)  # type: ignore[no-any-return]

    async def acall(
        self, approval: Any = None, tool: str = "order", **arguments: Any
    ) -> CallToolResult:
        """The same."""
        app = self.server.http_app(path="/mcp", json_response=True, stateless_http=True)
        application = beside_django(no_django, app)
        auth = Headers(self.session, {})
        transport = httpx2.ASGITransport(application)
        meta: Any = {} if approval is None else {MCP_APPROVAL: approval}
        async with (
            app.lifespan(app),
            httpx2.AsyncClient(transport=transport, auth=auth) as http,
            Client(streamable_http_client(URL, http_client=http)) as client,
        ):
            await client.list_tools()
            return await client.call_tool(tool, {**JACKET, **arguments}, meta=meta)


class Noting(Middleware):  # type: ignore[misc]  # no types where it is not installed
    """Stands for what sites put around their tools."""

    async def on_call_tool(self, context: Any, call_next: Any) -> Any:
        """Pass it on."""
        return await call_next(context)


def order_terms(request: Any, sku: str, quantity: int = 1) -> Any:
    """The terms, by which the account is known."""
    assert request.user.is_authenticated
    return fixed_terms(request)


@pytest.fixture
def shop(jacket: Item, signed_in: SessionOf) -> Any:
    """A shop with one gated tool."""
    action = Action("fastmcp.order", effects="database")
    shop = Shop(action, signed_in)

    @shop.server.tool
    @action.tool(terms=order_terms)
    def order(sku: str, ctx: Context, quantity: int = 1) -> Made:
        """Order something."""
        Effect.objects.create(kind=operation_of(ctx).action, key=sku)
        return Made(sku=sku)

    yield shop
    registry.discard(action)


def test_a_tool_of_fastmcp_is_performed_once(shop: Shop, effects: Effects) -> None:
    asked = shop.call()
    operation = operation_in(asked)
    assert "This needs approval" in text_of(asked)
    assert effects() == []
    done = shop.call(approval_of(operation))
    again = shop.call(approval_of(operation), quantity=1)

    assert done.structured_content == {"sku": "jacket", "note": None}
    assert (again.structured_content, text_of(again)) == (done.structured_content, text_of(done))
    assert effects() == ["fastmcp.order jacket"]


def test_what_was_sent_is_compared_under_fastmcp_too(shop: Shop, effects: Effects) -> None:
    operation = operation_in(shop.call())

    assert operation_in(shop.call(approval_of(operation), quantity=2))["revision"]
    assert effects() == []


def test_its_description_says_that_it_needs_approval(shop: Shop) -> None:
    async def listed() -> Any:
        async with FastClient(shop.server) as client:
            return await client.list_tools()

    (tool,) = async_to_sync(listed)()
    assert "Needs an approval" in tool.description
    assert tool.input_schema["properties"].keys() == {"sku", "quantity"}


def test_it_publishes_no_output_schema_of_its_own(shop: Shop) -> None:
    (tool,) = async_to_sync(shop.server.list_tools)()
    assert tool.output_schema is None


def test_without_a_session_nothing_is_done(shop: Shop, effects: Effects) -> None:
    shop.session = None  # type: ignore[assignment]
    result = shop.call()
    assert (result.structured_content or {})["error"] == "invalid_session"
    assert effects() == []


def test_a_gate_above_fastmcps_decorator_is_refused(shop: Shop) -> None:
    def tool(ctx: Context) -> str:
        """Do it."""
        return ""

    shop.server.tool(tool)
    with pytest.raises(TypeError, match="goes below the tool decorator of the MCP server"):
        shop.action.tool(terms=fixed_terms)(tool)


def test_a_tool_without_gate_finds_the_session(shop: Shop, alice: Any) -> None:
    @shop.server.tool
    @django_tool
    def whoami(sku: str, ctx: Context) -> str:
        """Say whose it is."""
        return f"{session_of(ctx).account} {Item.objects.get(sku=sku).price}"

    assert text_of(shop.call(tool="whoami")) == f"{alice.pk} 70.00"


def test_a_context_of_the_sdk_is_none_of_fastmcps(shop: Shop, effects: Effects) -> None:
    from mcp.server.mcpserver import Context as SdkContext

    def order_terms(request: Any, sku: str) -> Any:
        return fixed_terms(request)

    async def wrong(sku: str, ctx: SdkContext):  # type: ignore[no-untyped-def]
        """Take another context."""
        raise AssertionError

    wrong.__annotations__["ctx"] = SdkContext
    shop.server.tool(shop.action.tool(terms=order_terms)(wrong))
    assert shop.call(tool="wrong", ctx={}).is_error
    assert effects() == []
