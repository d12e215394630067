"""The Personal Agent beside its browser: what it does without it."""

from __future__ import annotations

import json
import time
from typing import Any

from example_project.tour.agent import Agent, approval_of
from example_project.tour.server import Server
from example_project.tour.web import send
from poppy_operations.testing.agents import PersonalAgent

# Not the demo agent's, which brings keys of its own to the same shop.
CLIENT_ID = "https://pip.example/client"
KEYS = PersonalAgent(CLIENT_ID)
SCOPE = "poppy:browser-sign-in"
START_S = 30


def until_it_answers(url: str) -> None:
    """Wait for a server that is being started."""
    deadline = time.monotonic() + START_S
    while True:
        try:
            send("GET", url, {})
        except OSError:
            assert time.monotonic() < deadline, f"{url} does not answer"
            time.sleep(0.05)
        else:
            return


class AgentAtWork:
    """An agent on the shop's list; ``username`` is whom it signs in as, if anybody."""

    def __init__(self, server: Server, username: str | None = "alice") -> None:
        self.server = server
        key_set = server.folder / "agent.jwks.json"
        if not key_set.exists():
            key_set.write_text(json.dumps(KEYS.jwks))
            server.command(
                "poppy_agents", "add", CLIENT_ID, "--jwks", str(key_set), "--name", "Pip"
            )
        token = None
        if username is not None:
            token = server.command(
                "demo_token", username, "--client-id", CLIENT_ID, "--scope", SCOPE
            ).strip()
        self._agent = Agent(server.url, KEYS, token)

    def ticket(self, return_to: str = "/orders/ord_7Hk2/") -> str:
        """The address that lets a browser in, once."""
        answer = self._agent.post(f"{self.server.url}/poppy/join", {"return_to": return_to})
        assert answer.status == 200, answer.text
        url: str = answer.json()["url"]
        return url

    def look_up(self, ref: str) -> dict[str, Any]:
        """The operation of a reference, or where it stands."""
        answer = self._at_the_endpoint(ref)
        body: dict[str, Any] = answer.json()
        return body.get("operation", body)

    def approve(self, ref: str) -> None:
        """Approve what the reference stands for."""
        answer = self._at_the_endpoint(ref, approval_of(self.look_up(ref)))
        assert answer.status == 204, answer.text

    def effects(self) -> list[str]:
        """What really happened in the shop."""
        lines = self.server.command("demo_effects").splitlines()
        return [json.loads(line)["effect"] for line in lines]

    def _at_the_endpoint(self, ref: str, approval: dict[str, str | int] | None = None) -> Any:
        url = f"{self.server.url}/poppy/operations"
        return self._agent.post(url, {"ref": ref}, approval=approval)
