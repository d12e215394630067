"""What a tool call asks for, read for the gate to compare."""

from __future__ import annotations

from collections.abc import Sequence

from poppy_operations.declarations.tool_calls import sdk_call_of
from poppy_operations.doors.http_content import fields_of, http_target
from poppy_operations.doors.mcp_asker import McpAsker
from poppy_operations.doors.mcp_servers import server_of
from poppy_operations.doors.mcp_signatures import ToolShape
from poppy_operations.gate.comparing import RequestContent
from poppy_operations.gate.ignoring import without


def tool_content(
    asker: McpAsker, action: str, shape: ToolShape, ignore: Sequence[str]
) -> RequestContent:
    """Read a call: its arguments as they were sent, and not what the SDK made of them.

    An argument that was not sent is no content, and neither is one that says what is so anyway.
    """
    params, server = sdk_call_of(asker.context).params or {}, server_of(asker.context)
    at = {"server": getattr(server, "name", ""), "tool": params.get("name")}
    sent = without(shape.without_defaults(params.get("arguments") or {}), ignore)
    if asker.is_without_http:
        return RequestContent({**at, "action": action}, {}, sent)
    target = {**http_target(asker.request, action), **at}
    return RequestContent(target, without(fields_of(asker.request.GET), ignore), sent)
