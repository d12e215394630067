from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from poppy_operations.models import Agent
from poppy_operations.testing.agents import PersonalAgent
from tests.sessions.conftest import KeyServer, key_server

pytestmark = pytest.mark.django_db

__all__ = ["key_server"]
CLIENT_ID = "https://agent.example/client"


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("poppy_agents", *arguments, stdout=out, stderr=out)
    return out.getvalue()


@pytest.fixture
def key_file(tmp_path: Path) -> str:
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps(PersonalAgent().jwks), encoding="utf-8")
    return str(path)


def test_an_agent_is_added_with_a_file_of_keys(key_file: str) -> None:
    assert (
        run("add", CLIENT_ID, "--jwks", key_file, "--name", "Ava") == f"{CLIENT_ID} is allowed.\n"
    )
    agent = Agent.objects.get()
    assert (agent.client_id, agent.name, agent.status) == (CLIENT_ID, "Ava", Agent.Status.ALLOWED)


def test_an_agent_is_added_with_the_uri_of_its_keys(key_server: KeyServer, settings: Any) -> None:
    settings.DEBUG = True
    key_server.serve(PersonalAgent().jwks)
    client_id = f"{key_server.url}/client"
    assert run("add", client_id, "--jwks-uri", key_server.url) == f"{client_id} is allowed.\n"
    assert Agent.objects.get().keys_loaded_at is not None


def test_an_agent_whose_keys_are_not_there_yet_is_added_all_the_same(
    key_server: KeyServer, settings: Any
) -> None:
    settings.DEBUG = True
    client_id = f"{key_server.url}/client"
    printed = run("add", client_id, "--jwks-uri", key_server.url)
    assert "is allowed." in printed
    assert "tried again" in printed
    assert Agent.objects.get().keys_loaded_at is None


def test_an_agent_is_revoked_and_allowed_again(key_file: str) -> None:
    run("add", CLIENT_ID, "--jwks", key_file)
    assert run("revoke", CLIENT_ID) == f"{CLIENT_ID} is revoked.\n"
    assert Agent.objects.get().status == Agent.Status.REVOKED
    with pytest.raises(CommandError, match="it has to be allowed again expressly"):
        run("add", CLIENT_ID, "--jwks", key_file)
    assert Agent.objects.get().status == Agent.Status.REVOKED
    run("add", CLIENT_ID, "--again", "--jwks", key_file)
    assert Agent.objects.get().status == Agent.Status.ALLOWED


def test_the_list_shows_every_agent_with_its_status(key_file: str) -> None:
    assert run("list") == ""
    run("add", "https://b.example/", "--jwks", key_file)
    run("add", "https://a.example/", "--jwks", key_file, "--name", "Ava")
    run("revoke", "https://b.example/")
    assert run("list") == "allowed  https://a.example/  Ava\nrevoked  https://b.example/\n"


def test_keys_are_loaded_on_demand(key_server: KeyServer, settings: Any) -> None:
    settings.DEBUG = True
    client_id = f"{key_server.url}/client"
    run("add", client_id, "--jwks-uri", key_server.url)
    key_server.serve(PersonalAgent().jwks)
    assert run("refresh", client_id) == f"The keys of {client_id} are loaded.\n"
    assert Agent.objects.get().jwks


def test_keys_that_cannot_be_loaded_on_demand_are_an_error(
    key_server: KeyServer, settings: Any
) -> None:
    settings.DEBUG = True
    client_id = f"{key_server.url}/client"
    run("add", client_id, "--jwks-uri", key_server.url)
    with pytest.raises(CommandError, match="cannot be loaded"):
        run("refresh", client_id)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("add",),
        ("add", CLIENT_ID),
        ("add", CLIENT_ID, "--jwks", "keys.json", "--jwks-uri", "https://agent.example/jwks"),
        ("add", CLIENT_ID, "--jwks", "/nowhere/keys.json"),
        ("add", CLIENT_ID, "--jwks-uri", "https://other.example/jwks"),
        ("add", "http://agent.example/", "--jwks-uri", "http://agent.example/jwks"),
        ("revoke", CLIENT_ID),
        ("refresh", CLIENT_ID),
        ("rename", CLIENT_ID),
    ],
)
def test_a_mistake_is_a_sentence_and_no_traceback(arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        run(*arguments)
    assert not Agent.objects.exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"keys": []}', b"[" * 100_000])
def test_a_file_without_a_key_set_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "jwks.json"
    path.write_bytes(content)
    with pytest.raises(CommandError):
        run("add", CLIENT_ID, "--jwks", str(path))


def test_keys_given_by_hand_cannot_be_refreshed(key_file: str) -> None:
    run("add", CLIENT_ID, "--jwks", key_file)
    with pytest.raises(CommandError, match="no JWKS URI"):
        run("refresh", CLIENT_ID)
