"""Agents, a clock that stands still, and a server of key sets on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.test import RequestFactory

from poppy_operations.sessions import agents, tokens
from poppy_operations.sessions.agents import add_agent
from poppy_operations.sessions.session import Session
from poppy_operations.sessions.verification import verify
from poppy_operations.testing.agents import PersonalAgent, TokenIssuer
from tests.configuring import configure

NOW = datetime(2026, 10, 8, 19, 0, tzinfo=UTC)
AUDIENCE = "https://shop.example"


def session_of(headers: dict[str, str], *, now: datetime = NOW) -> Session:
    return verify(RequestFactory().get("/", headers=headers), now=now)


@pytest.fixture(autouse=True)
def _forgetful_process(monkeypatch: pytest.MonkeyPatch) -> None:
    agents.tries.clear()
    monkeypatch.setattr(tokens, "_remotes", {})


@pytest.fixture
def personal_agent() -> PersonalAgent:
    return PersonalAgent()


@pytest.fixture
def agent(db: None, personal_agent: PersonalAgent) -> PersonalAgent:
    add_agent(personal_agent.client_id, jwks=personal_agent.jwks)
    return personal_agent


@pytest.fixture
def issuer(settings: Any) -> TokenIssuer:
    token_issuer = TokenIssuer()
    configure(settings, TOKEN_JWKS=token_issuer.jwks)
    return token_issuer


class KeyServer:
    """Answers every GET by ``answer``, which gets the handler; counts the requests."""

    def __init__(self) -> None:
        self.hosts: list[str | None] = []
        self.paths: list[str] = []
        self.answer: Callable[[BaseHTTPRequestHandler], None] = self.not_found
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.hosts.append(self.headers["Host"])
                outer.paths.append(self.path)
                outer.answer(self)

            def log_message(self, *args: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *args: object) -> None:
                """Clients that hang up are part of the tests."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))

    @staticmethod
    def not_found(handler: BaseHTTPRequestHandler) -> None:
        handler.send_error(404)

    def serve(self, body: object, *, status: int = 200, **headers: str) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()

        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(status)
            for name, value in headers.items():
                handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(content)))
            handler.end_headers()
            handler.wfile.write(content)

        self.answer = answer


@pytest.fixture
def key_server() -> Iterator[KeyServer]:
    server = KeyServer()
    server.thread.start()
    yield server
    server.server.shutdown()
    server.server.server_close()
    server.thread.join()
