"""Requests and answers as they went over the wire, for people to read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from urllib.parse import parse_qsl, urlsplit

from example_project.tour.pages import Page
from example_project.tour.web import Answer

LONGEST_VALUE = 96
LONGEST_BODY = 6_000
TELLING = frozenset(
    {
        "authorization",
        "cache-control",
        "content-type",
        "cookie",
        "location",
        "origin",
        "retry-after",
        "set-cookie",
        "www-authenticate",
    }
)
TOKENS = frozenset({"poppy-session", "authorization", "cookie", "set-cookie"})


@dataclass(frozen=True)
class Header:
    """A header, as far as it is shown."""

    name: str
    value: str

    @property
    def is_protocols(self) -> bool:
        """Whether the protocol, and not HTTP, defines what is in it."""
        return self.name.lower().startswith("poppy-")


@dataclass(frozen=True)
class Headers:
    """The headers of a message: those that tell something here, the protocol's first; others."""

    telling: tuple[Header, ...]
    others: tuple[Header, ...]


@dataclass(frozen=True)
class Exchange:
    """One request and its answer. ``sender`` is the agent or its browser."""

    number: int
    sender: str
    answer: Answer

    @property
    def line(self) -> str:
        """The request in one line."""
        parts = urlsplit(self.answer.url)
        return f"{self.answer.method} {parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"

    @property
    def status(self) -> str:
        """The status in words."""
        return f"{self.answer.status} {HTTPStatus(self.answer.status).phrase}"

    @property
    def is_refusal(self) -> bool:
        """Whether the answer is an error to HTTP."""
        return self.answer.status >= HTTPStatus.BAD_REQUEST

    @property
    def is_told(self) -> bool:
        """Whether it is more than a page that was looked at."""
        return self.answer.method == "POST"

    @property
    def sent_headers(self) -> Headers:
        """The headers of the request."""
        return _headers(self.answer.sent_headers)

    @property
    def headers(self) -> Headers:
        """The headers of the answer."""
        return _headers(self.answer.headers)

    @property
    def sent_body(self) -> str:
        """The body of the request."""
        kind = dict(self.answer.sent_headers).get("Content-Type", "")
        return _body(self.answer.sent_body, kind)

    @cached_property
    def page(self) -> Page | None:
        """The page, where the answer is one."""
        is_page = (self.answer.header("Content-Type") or "").startswith("text/html")
        return Page(self.answer.url, self.answer.text) if is_page and self.answer.body else None

    @property
    def body(self) -> str:
        """The body of the answer."""
        return _body(self.answer.body, self.answer.header("Content-Type") or "")


def _headers(headers: tuple[tuple[str, str], ...]) -> Headers:
    shown = [Header(name, _shortened(name, value)) for name, value in headers]
    ours = [header for header in shown if header.is_protocols]
    known = [header for header in shown if header.name.lower() in TELLING]
    others = [header for header in shown if header not in ours and header not in known]
    return Headers((*ours, *known), tuple(others))


def _shortened(name: str, value: str) -> str:
    """Cut what is long and says nothing to people."""
    if name.lower() in TOKENS and len(value) > LONGEST_VALUE:
        return f"{value[:LONGEST_VALUE]}… ({len(value)} characters)"
    return value


def _body(body: bytes, kind: str) -> str:
    text = body.decode("utf-8", "replace")
    if "json" in kind:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False) if text else ""
    if kind == "application/x-www-form-urlencoded":
        return "\n".join(f"{name} = {value}" for name, value in parse_qsl(text))
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n".join(lines)[:LONGEST_BODY]
