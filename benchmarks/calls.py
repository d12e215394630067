"""Requests to the site in this process, as a server would hand them to it.

No test client: what is timed is Django's own handler and nothing around it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from urllib.parse import urlencode

from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.wsgi import WSGIHandler
from django.test.utils import override_settings

from benchmarks.settings import HOST


@dataclass(frozen=True)
class Answer:
    """What a request was answered."""

    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str:
        """Give the one header of this name."""
        (value,) = self.all_of(name)
        return value

    def all_of(self, name: str) -> list[str]:
        """Give every header of this name."""
        return [value for key, value in self.headers if key.lower() == name.lower()]


@dataclass(frozen=True)
class Sent:
    """A request that is ready to be sent, any number of times."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""
    content_type: str = "application/json"

    def environ(self) -> dict[str, Any]:
        """Give what WSGI servers hand over."""
        path, _, query = self.path.partition("?")
        named = {f"HTTP_{name.upper().replace('-', '_')}": v for name, v in self.headers.items()}
        return {
            "REQUEST_METHOD": self.method,
            "SCRIPT_NAME": "",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "SERVER_NAME": HOST,
            "SERVER_PORT": "443",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "wsgi.url_scheme": "https",
            "wsgi.input": BytesIO(self.body),
            "HTTP_HOST": HOST,
            "CONTENT_TYPE": self.content_type,
            "CONTENT_LENGTH": str(len(self.body)),
            **named,
        }

    def scope(self) -> dict[str, Any]:
        """Give what ASGI servers hand over."""
        named = {"host": HOST, **self.headers}
        return {
            "type": "http",
            "http_version": "1.1",
            "method": self.method,
            "scheme": "https",
            "path": self.path,
            "query_string": b"",
            "headers": [(key.lower().encode(), value.encode()) for key, value in named.items()],
            "server": (HOST, 443),
            "client": ("127.0.0.1", 12345),
        }


def form(path: str, fields: Mapping[str, str], headers: Mapping[str, str]) -> Sent:
    """Give the request that submits a form."""
    body = urlencode(fields).encode()
    return Sent("POST", path, headers, body, "application/x-www-form-urlencoded")


class Site:
    """The site behind WSGI, with middleware of its own."""

    def __init__(self, middleware: Iterable[str]) -> None:
        with override_settings(MIDDLEWARE=list(middleware)):
            self._handler = WSGIHandler()

    def send(self, sent: Sent) -> Answer:
        """Send a request."""
        return self.ready(sent)()

    def ready(self, sent: Sent) -> Callable[[], Answer]:
        """Prepare a request as far as a server does, to be sent once."""
        environ, handler = sent.environ(), self._handler
        begun: list[Any] = []

        def start_response(status: str, headers: list[tuple[str, str]], *_error: Any) -> Any:
            begun[:] = int(status[:3]), headers

        def call() -> Answer:
            response = handler(environ, start_response)
            body = b"".join(response)
            response.close()
            return Answer(begun[0], begun[1], body)

        return call


class AsyncSite:
    """The site behind ASGI, in an event loop of its own."""

    def __init__(self, middleware: Iterable[str]) -> None:
        with override_settings(MIDDLEWARE=list(middleware)):
            self._handler = ASGIHandler()

    async def send(self, sent: Sent) -> Answer:
        """Send a request."""
        begun: list[Any] = []
        body: list[bytes] = []
        messages: list[Any] = [{"type": "http.request", "body": sent.body, "more_body": False}]

        async def receive() -> Any:
            if messages:
                return messages.pop()
            await asyncio.Event().wait()  # nobody hangs up
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                begun[:] = message["status"], message["headers"]
            else:
                body.append(message.get("body", b""))

        await self._handler(sent.scope(), receive, send)
        headers = [(name.decode(), value.decode()) for name, value in begun[1]]
        return Answer(begun[0], headers, b"".join(body))
