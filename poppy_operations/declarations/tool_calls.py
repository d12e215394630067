"""Where the contexts of MCP's SDKs keep what belongs to one call of a tool."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

# At the SDK's record of a call: the request of Django's that stands for it.
REQUEST = "_poppy_request"


def record_of(context: Any) -> Any:
    """The SDK's record of a call: the parameters as they came, and the HTTP request that did.

    FastMCP wraps it. Raises ``RuntimeError`` for a context that belongs to no call, such as one
    that a client could make up.
    """
    try:
        record = context.request_context
    except (AttributeError, ValueError):
        record = None
    record = getattr(record, "_srctx", record)
    if not hasattr(record, "params") or not hasattr(record, "request"):
        message = (
            "A gated tool is called by its MCP server, with the server's own Context for the "
            f"call, and not with {type(context).__name__}."
        )
        raise RuntimeError(message)
    return record


def request_in(context: Any) -> HttpRequest | None:
    """The request that stands for the call of a context; ``None`` if it is no such context's."""
    if not hasattr(type(context), "request_context"):
        return None
    request: HttpRequest | None = getattr(record_of(context), REQUEST, None)
    return request
