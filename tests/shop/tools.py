"""The test site's MCP server: the API's order behind tools of every kind."""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel

from poppy_operations import CurrentOperation, Terms, operation_of
from poppy_operations.mcp import django_tool, session_of
from tests.shop import orders
from tests.shop.models import Effect, Item
from tests.shop.operations import behaviour

server = MCPServer("shop")


class Ordered(BaseModel):
    """What an order gives."""

    sku: str
    quantity: int
    note: str | None = None


def terms(request: Any, sku: str, quantity: int = 1, **further: Any) -> Any:
    """The terms of an order at today's price. What else comes is nobody's business."""
    answer = orders.api.terms(request)
    if answer is not None:
        return answer
    item = Item.objects.get(sku=sku)
    total = item.price * quantity
    return Terms(
        {"sku": item.sku, "quantity": quantity, "total": {"amount": total, "currency": "USD"}},
        summary=f"Order {quantity} × {item.sku} for ${total}.",
        needed=orders.api.needed,
    )


async def aterms(request: Any, sku: str, quantity: int = 1, note: Any = None) -> Any:
    """Async terms."""
    return await sync_to_async(terms)(request, sku, quantity)


def allowed(request: Any, **arguments: Any) -> Any:
    """The site's object-level right."""
    return orders.api.allowed(request)


def happen(operation: CurrentOperation) -> Any:
    """Do it: one effect, by the approved terms alone."""
    behaviour.before_effect(operation)
    wanted = operation.terms
    Effect.objects.create(kind=operation.action, key=f"{wanted['quantity']} {wanted['sku']}")
    behaviour.after_effect(operation)
    if orders.api.answer is not None:
        return orders.api.answer(operation)
    return Ordered(sku=wanted["sku"], quantity=wanted["quantity"])


@server.tool()
@orders.order.tool(terms=terms, allowed=allowed, replay=orders.replay)
async def order(sku: str, ctx: Context, quantity: int = 1, note: Any = None) -> Ordered:
    """Order something.

    It is delivered tomorrow.
    """
    ordered: Ordered = await sync_to_async(happen)(operation_of(ctx))
    return ordered


@server.tool()
@orders.order.tool(terms=terms, allowed=allowed)
def sync_order(sku: str, ctx: Context, quantity: int = 1, note: Any = None) -> Ordered:
    """Order something, by a synchronous tool."""
    ordered: Ordered = happen(operation_of(ctx))
    return ordered


@server.tool()
@orders.order.tool(terms=aterms)
async def plain_order(sku: str, ctx: Context, quantity: int = 1, note: Any = None):  # type: ignore[no-untyped-def]
    """Order something, with a result that has no schema."""
    await sync_to_async(happen)(operation_of(ctx))
    return f"Ordered {quantity} × {sku}."


@server.tool()
@orders.order.tool(terms=terms)
def whole_order(sku: str, ctx: Context, quantity: int = 1) -> CallToolResult:
    """Order something, with a result of the SDK."""
    happen(operation_of(ctx))
    text = TextContent(type="text", text="Ordered.")
    return CallToolResult(content=[text], structured_content={"sku": sku, "gift": None})


@server.tool()
@orders.transfer.tool(terms=terms, ignore=["trace"])
async def transfer(sku: str, ctx: Context, quantity: int = 1, trace: str = "") -> Ordered:
    """Reach outside."""
    ordered: Ordered = await sync_to_async(happen)(operation_of(ctx))
    return ordered


@server.tool()
@orders.by_hand.tool(terms=terms, scope="orders:write")
def scoped_order(sku: str, ctx: Context) -> Ordered:
    """Order something by hand, with a scope."""
    ordered: Ordered = happen(operation_of(ctx))
    return ordered


@server.tool()
@django_tool
def price(sku: str) -> str:
    """Say what something costs."""
    return str(Item.objects.get(sku=sku).price)


@server.tool()
@django_tool
async def whoami(ctx: Context) -> str:
    """Say in whose account the call is."""
    session = await sync_to_async(session_of)(ctx)
    return session.account or "nobody"


@server.tool()
async def nested(sku: str, times: int, ctx: Context) -> str:
    """Call the gated tool by itself."""
    results = [await server.call_tool("order", {"sku": sku}, ctx) for _ in range(times)]
    return results[-1].model_dump_json(by_alias=True)
