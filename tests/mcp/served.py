"""The demo shop with a tool that can be killed in the middle, for tests that start its server."""

from __future__ import annotations

import os
import signal

from mcp.server.mcpserver import Context

from example_project.asgi import application as application
from example_project.settings import VAR
from example_project.shop.exchanges import exchange_item
from example_project.shop.mcp import exchange_terms, server
from example_project.shop.operations import exchange
from poppy_operations import operation_of

DEATH = "death"


@server.tool()
@exchange.tool(terms=exchange_terms, scope="orders:write")
def deadly_exchange(order_id: str, item_id: str, replacement_sku: str, ctx: Context) -> str:
    """Exchange an item; if a test says so, the process dies once it was written."""
    operation = operation_of(ctx)
    exchange_item(operation.terms, operation.operation_id)
    if (VAR / DEATH).exists():
        (VAR / DEATH).unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return "Exchanged."
