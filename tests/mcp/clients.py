"""The official client, whose every request has the headers of a Session of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
from asgiref.sync import async_to_sync
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult

from poppy_operations.mcp import beside_django
from poppy_operations.protocol.wire import MCP_APPROVAL
from tests.agents import SessionOf, approval_of
from tests.shop.tools import server

URL = "http://shop.example/mcp"
JACKET = {"sku": "jacket"}
ANY_HOST = TransportSecuritySettings(enable_dns_rebinding_protection=False)


async def no_django(scope: Any, receive: Any, send: Any) -> None:
    """Stand for Django, which no test asks here."""
    raise AssertionError(scope)


class Headers(httpx2.Auth):
    """New headers for each request, as an agent makes them; or those that a test says."""

    def __init__(
        self,
        session: SessionOf | None,
        further: Mapping[str, str],
        doubled: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.session = session
        self.further = further
        self.doubled = doubled

    def auth_flow(
        self, request: httpx2.Request
    ) -> Generator[httpx2.Request, httpx2.Response, None]:
        own = {} if self.session is None else self.session.headers()
        request.headers.update({**own, **self.further})
        request.headers = httpx2.Headers([*request.headers.multi_items(), *self.doubled])
        yield request


@dataclass
class ToolClient:
    """Calls one tool in a Session, with the same arguments unless a test says so."""

    session: SessionOf | None
    tool: str = "order"
    server: MCPServer = server
    mode: str = "auto"
    json: bool = True
    url: str = URL
    headers: Mapping[str, str] = field(default_factory=dict)
    doubled: Sequence[tuple[str, str]] = ()
    alone: bool = False  # the MCP application is served by itself
    user: Any = None  # whom middleware in front of the server has authenticated
    answers: list[httpx2.Response] = field(default_factory=list)

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Client]:
        """A client of the server's own ASGI application, in this process."""
        mcp = self.server.streamable_http_app(
            json_response=self.json, stateless_http=True, transport_security=ANY_HOST
        )
        served: Any = mcp if self.alone else beside_django(no_django, mcp)

        async def application(scope: Any, receive: Any, send: Any) -> None:
            user = {} if self.user is None else {"user": self.user}
            await served({**scope, **user}, receive, send)

        async def noted(response: httpx2.Response) -> None:
            await response.aread()
            self.answers.append(response)

        async with (
            self.server.session_manager.run(),
            httpx2.AsyncClient(
                transport=httpx2.ASGITransport(application),
                auth=Headers(self.session, self.headers, self.doubled),
                event_hooks={"response": [noted]},
            ) as http,
            Client(streamable_http_client(self.url, http_client=http), mode=self.mode) as client,
        ):
            yield client

    async def acall(
        self,
        approval: Any = None,
        *,
        arguments: Mapping[str, Any] | None = None,
        tool: str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> CallToolResult:
        """Call the tool, with an approval or without."""
        sent = {} if approval is None else {MCP_APPROVAL: approval}
        async with self.connected() as client:
            try:
                return await client.call_tool(
                    tool or self.tool, dict(arguments or JACKET), meta={**sent, **(meta or {})}
                )
            except MCPError as error:  # not in a group of those who shut the client down
                refused = error
        raise refused

    def call(self, approval: Any = None, **call: Any) -> CallToolResult:
        """The same, of synchronous code, in its own thread."""
        result: CallToolResult = async_to_sync(self.acall)(approval, **call)
        return result

    def ask(self, **call: Any) -> dict[str, Any]:
        """Get an operation, which has to come."""
        return operation_in(self.call(**call))

    def approve(
        self, operation: Mapping[str, Any], approver: str = "user", **call: Any
    ) -> CallToolResult:
        """Make the call again with the operation's approval."""
        return self.call(approval_of(operation, approver), **call)


def operation_in(result: CallToolResult) -> dict[str, Any]:
    """The operation of a tool's refusal."""
    assert result.is_error, result
    assert result.structured_content is not None, result
    assert result.structured_content.keys() == {"operation"}, result
    operation: dict[str, Any] = result.structured_content["operation"]
    return operation


def text_of(result: CallToolResult) -> str:
    """What a model reads of a result."""
    return " ".join(getattr(one, "text", "") for one in result.content)
