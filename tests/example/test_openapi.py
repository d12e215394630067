"""The shop's API answers as its OpenAPI document says, whatever it is sent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from example_project.tour.agent import CLIENT_ID
from example_project.tour.commands import PROJECT
from example_project.tour.server import WSGI, Server
from example_project.tour.web import send
from poppy_operations.testing.agents import PersonalAgent

pytestmark = pytest.mark.servers
KEYS = PersonalAgent(CLIENT_ID)
# A server error is an undocumented status, but for 503, which here is no fault.
CHECKS = (
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "errors_have_their_status",
    "what_is_approved_is_done_once",
)
EXAMPLES = 8  # of each operation, beside the cases that Schemathesis derives from the document
LONGEST_S = 240


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(WSGI) as server:
        key_set = server.folder / "agent.jwks.json"
        key_set.write_text(json.dumps(KEYS.jwks))
        server.command("poppy_agents", "add", CLIENT_ID, "--jwks", str(key_set))
        yield server


def examined(server: Server, folder: Path, caller: str, token: str | None = None) -> dict[str, int]:
    """Let Schemathesis look at the shop, as one caller; gives how often which status came."""
    key = KEYS.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    environment = {
        **os.environ,
        "PYTHONPATH": str(PROJECT),
        "SCHEMATHESIS_HOOKS": "tests.example.openapi_hooks",
        "SHOP": server.url,
        "CALLER": caller,
        "AGENT_KEY": key.decode(),
    }
    if token is not None:
        environment["TOKEN"] = token
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/api/schema"),
        f"--checks={','.join(CHECKS)}",
        "--phases=examples,coverage,fuzzing",
        f"--max-examples={EXAMPLES}",
        "--generation-deterministic",
        "--suppress-health-check=all",
        "--warnings=off",
        "--no-color",
        "--no-shrink",
    ]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LONGEST_S
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    seen: dict[str, int] = json.loads((folder / "seen.json").read_text())
    assert "Traceback" not in server.last_words()
    return seen


def test_nobody_is_answered_as_the_document_says(server: Server, tmp_path: Path) -> None:
    seen = examined(server, tmp_path, "nobody")
    assert {"201", "400", "401", "403", "404"} <= seen.keys()


def test_an_agent_is_answered_as_the_document_says(server: Server, tmp_path: Path) -> None:
    token = server.command("demo_token", "alice", "--client-id", CLIENT_ID)
    scoped = server.command("demo_token", "alice", "--client-id", CLIENT_ID, "--scope=orders:write")
    seen = examined(server, tmp_path, "agent", scoped.strip())
    assert {"200", "400", "403", "404", "415"} <= seen.keys()
    assert {"approved 201", "approved 204", "approved 422", "approved 503"} <= seen.keys()
    seen = examined(server, tmp_path, "agent_without_scope", token.strip())
    assert "approved 204" in seen
    assert "422" not in seen


def test_an_agent_that_is_signed_out_is_answered_as_the_document_says(
    server: Server, tmp_path: Path
) -> None:
    seen = examined(server, tmp_path, "signed_out_agent")
    assert {"401", "approved 201"} <= seen.keys()


def test_the_document_is_for_everybody_and_can_be_found(server: Server) -> None:
    home = send("GET", f"{server.url}/", {})
    assert 'href="/api/schema"' in home.text
    found = send("GET", f"{server.url}/.well-known/poppy.json", {})
    assert found.header("Link") == f'<{server.url}/api/schema>; rel="service-desc"'
    for query, headers in (
        ("", {}),
        ("", {"Accept": "text/html,*/*;q=0.8"}),
        ("", {"Poppy-Session": "no.jwt"}),
        ("?version=%0a&lang=%00&format=yaml", {}),
    ):
        document = send("GET", f"{server.url}/api/schema{query}", headers)
        assert document.status == 200
        assert document.header("Content-Type") == "application/json"
        assert set(document.json()["paths"]) == {
            "/api/account/closure",
            "/api/orders/{order_id}",
            "/api/orders/{order_id}/exchanges",
            "/api/orders/{order_id}/refunds",
            "/api/reservations",
        }


@pytest.mark.parametrize("path", ["/api/", "/api/unknown", "/api/orders/a%0Ab", "/api/schema/"])
def test_whatever_else_is_asked_of_the_api_is_not_found_in_json(server: Server, path: str) -> None:
    for method in ("GET", "POST", "OPTIONS"):
        answer = send(method, server.url + path, {"Accept": "text/html"})
        assert (answer.status, answer.header("Content-Type")) == (404, "application/json")
