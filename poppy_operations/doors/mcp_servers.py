"""What a server tells its clients of a gated tool has to be true."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from weakref import WeakKeyDictionary

from django.core.exceptions import ImproperlyConfigured

from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.declarations.tool_calls import sdk_call_of
from poppy_operations.protocol.wire import MCP_APPROVAL


def server_of(context: Any) -> Any:
    """The server that a context of the SDK, or of FastMCP, belongs to."""
    return getattr(context, "mcp_server", None) or getattr(context, "fastmcp", None)


class ServersSeen:
    """The servers whose word on one tool was looked at, each at the first call there."""

    def __init__(self) -> None:
        self._seen: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()

    async def look_at(
        self, context: Any, action: DeclaredAction, arguments: Collection[str]
    ) -> None:
        """Raise ``ImproperlyConfigured`` if ``tools/list`` says what is not so.

        A tool with other arguments than the gated one's is one that calls it.
        """
        server = server_of(context)
        name = (sdk_call_of(context).params or {}).get("name", "")
        if server is None or name in self._seen.setdefault(server, set()):
            return
        for tool in await server.list_tools():
            if tool.name == name and _arguments_of(tool) == set(arguments):
                _reject_untrue(action, tool)
        self._seen[server].add(name)


def _arguments_of(tool: Any) -> set[str]:
    schema = getattr(tool, "input_schema", None) or getattr(tool, "parameters", {})
    return set(schema.get("properties", {}))


def _reject_untrue(action: DeclaredAction, tool: Any) -> None:
    if getattr(tool.annotations, "read_only_hint", None):
        message = (
            f"The tool {tool.name} performs {action.name}, and its annotations say read_only_hint: "
            "leave that out."
        )
        raise ImproperlyConfigured(message)
    if MCP_APPROVAL not in (tool.description or ""):
        message = (
            f"The tool {tool.name} performs {action.name}, and its description does not say that "
            "this needs an approval: leave description= out, so that the function's docstring is "
            "taken, or add poppy_operations.mcp.NOTICE to it."
        )
        raise ImproperlyConfigured(message)
