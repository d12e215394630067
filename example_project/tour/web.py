"""One HTTP request and its answer, with nothing added and nothing followed."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_S = 60


@dataclass(frozen=True)
class Answer:
    """What a server answered, and to what."""

    method: str
    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    sent_headers: tuple[tuple[str, str], ...] = ()
    sent_body: bytes = b""

    def header(self, name: str) -> str | None:
        """Return the value of a header that is sent once."""
        values = self.all(name)
        return values[0] if values else None

    def all(self, name: str) -> list[str]:
        """Return each value of a header."""
        return [value for sent, value in self.headers if sent.lower() == name.lower()]

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """Return the body as JSON; what is not JSON is returned as text."""
        try:
            return json.loads(self.body)
        except ValueError:
            return self.text

    @property
    def line(self) -> str:
        """The request and its status in one line."""
        return f"{self.method} {urlsplit(self.url).path} -> {self.status}"


def send(method: str, url: str, headers: Mapping[str, str], body: bytes | None = None) -> Answer:
    """Send one request on a connection of its own."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=TIMEOUT_S)
    target = parts.path or "/"
    if parts.query:
        target += f"?{parts.query}"
    try:
        connection.request(method, target, body=body, headers=dict(headers))
        response = connection.getresponse()
        answered = tuple(response.getheaders())
        sent = (("Host", parts.netloc), *headers.items())
        return Answer(method, url, response.status, answered, response.read(), sent, body or b"")
    finally:
        connection.close()
