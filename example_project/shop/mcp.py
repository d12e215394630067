"""The shop's MCP server, whose tools are called at ``/mcp``."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import BaseModel

from example_project.shop import exchanges
from example_project.shop.operations import exchange
from example_project.shop.orders import own_order
from example_project.shop.serializers import ExchangeRequest
from poppy_operations import Terms, operation_of

server = MCPServer("Stormline", log_level="WARNING")


class Price(BaseModel):
    """An amount; one that is paid back is negative."""

    amount: str
    currency: str


class ExchangeDone(BaseModel):
    """An exchange that was made."""

    exchange_id: str
    item_id: str
    replacement_sku: str
    price_difference: Price


def own_order_only(request: HttpRequest, order_id: str, **arguments: str) -> None:
    """Let nobody near another account's order, whatever was answered to whom before."""
    own_order(request.user, order_id)


def exchange_terms(
    request: HttpRequest, order_id: str, item_id: str, replacement_sku: str
) -> Terms:
    """Return the exact terms of the exchange that the call asks for."""
    asked: Any = ExchangeRequest(
        data={"item_id": item_id, "replacement_sku": replacement_sku},
        context={"order": own_order(request.user, order_id)},
    )
    asked.is_valid(raise_exception=True)
    item, replacement = asked.validated_data["item_id"], asked.validated_data["replacement_sku"]
    return Terms(
        exchanges.exchange_values(item, replacement),
        summary=exchanges.exchange_summary(item, replacement),
        same_action=(order_id, item.item_id),
    )


@server.tool()
@exchange.tool(terms=exchange_terms, allowed=own_order_only, scope="orders:write")
def exchange_item(order_id: str, item_id: str, replacement_sku: str, ctx: Context) -> ExchangeDone:
    """Exchange an item of an order for another product, at today's price."""
    operation = operation_of(ctx)
    made = exchanges.exchange_item(operation.terms, operation.operation_id)
    return ExchangeDone(
        exchange_id=made.exchange_id,
        item_id=made.item.item_id,
        replacement_sku=made.replacement.sku,
        price_difference=Price(**operation.terms["price_difference"]),
    )


def mcp_application() -> Any:
    """Return the server as an ASGI application: no state, since every call has its own headers."""
    hosts = [*settings.ALLOWED_HOSTS, *(f"{host}:*" for host in settings.ALLOWED_HOSTS)]
    origins = [f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts]
    return server.streamable_http_app(
        streamable_http_path="/mcp",
        stateless_http=True,
        json_response=True,
        transport_security=TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins),
    )
