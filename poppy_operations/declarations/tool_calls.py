"""Where the contexts of MCP's SDKs keep what belongs to one call of a tool."""

from __future__ import annotations

from typing import Any, Protocol

from django.http import HttpRequest


class ToolContext(Protocol):
    """The context of a tool call, as the SDK and FastMCP have it."""

    @property
    def request_context(self) -> Any:
        """The SDK's record of the call."""


# At the SDK's record of a call: the request of Django's that stands for it.
REQUEST = "_poppy_request"


def sdk_call_of(context: Any) -> Any:
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
    """The request that stands for the call of a context; ``None`` if it is no such context.

    Raises ``RuntimeError`` for a call that has not come to a gate.
    """
    if not hasattr(type(context), "request_context"):
        return None
    request: HttpRequest | None = getattr(sdk_call_of(context), REQUEST, None)
    if request is None:
        message = (
            "This call did not come through an action's door. operation_of() is called in a tool "
            "that @action.tool decorates."
        )
        raise RuntimeError(message)
    return request
