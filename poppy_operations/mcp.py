"""For sites with MCP tools. Needs the extra ``mcp``; gated tools are made by ``Action.tool``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from poppy_operations.company import verified_session
from poppy_operations.doors.mcp_requests import request_of
from poppy_operations.doors.mcp_signatures import NOTICE as NOTICE
from poppy_operations.doors.mcp_threads import django_tool as django_tool
from poppy_operations.doors.mcp_transport import Scope, Send, with_challenges
from poppy_operations.sessions.session import Session

Receive = Callable[[], Awaitable[Any]]
Application = Callable[[Any, Any, Any], Awaitable[None]]

__all__ = ["NOTICE", "beside_django", "django_tool", "session_of"]


def beside_django(django: Application, mcp: Application, *, path: str = "/mcp") -> Application:
    """Make one ASGI application of Django's and an MCP server's, which serves ``path``.

    The MCP application gets the lifespan, which Django's has none of. A tool's challenge for an
    account or a scope becomes the status and ``WWW-Authenticate`` of the HTTP answer.
    """
    if not path.startswith("/") or path == "/" or path != path.rstrip("/"):
        message = f"path= is where the MCP server is, such as '/mcp', and not {path!r}."
        raise ValueError(message)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await mcp(scope, receive, send)
        elif scope["type"] == "http" and _is_at(path, scope["path"]):
            await mcp(scope, receive, with_challenges(scope, send))
        else:
            await django(scope, receive, send)

    return application


def _is_at(path: str, asked: str) -> bool:
    return asked == path or asked.startswith(f"{path}/")


def session_of(context: Any) -> Session:
    """The verified Session of a call, for tools that need no approval.

    ``context`` is the SDK's own of the call. Looks at the database. Raises a ``SessionRefused``.
    """
    return verified_session(request_of(context))
