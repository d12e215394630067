"""Who takes part in the story, and what the chapters need from one another."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from example_project.tour.agent import CLIENT_ID, Agent, Reference
from example_project.tour.browser import Browser
from example_project.tour.narration import Narrator, Surprise, expect
from example_project.tour.pages import Form
from example_project.tour.server import Server
from example_project.tour.web import Answer
from poppy_operations.testing.agents import PersonalAgent

ORDER = "ord_7Hk2"
ITEM = "itm_4Qa"
WANTED = "stormline-insulated-m"


@dataclass
class Story:
    """The shop, Alice's agent and the agent's browser."""

    server: Server
    narrator: Narrator
    keys: PersonalAgent = field(default_factory=lambda: PersonalAgent(CLIENT_ID))
    browser: Browser = field(default_factory=Browser)
    # What earlier chapters leave to later ones.
    document: dict[str, Any] = field(init=False)
    signed_in: Agent = field(init=False)
    reference: Reference = field(init=False)
    operation: dict[str, Any] = field(init=False)

    @property
    def shop(self) -> str:
        """The shop's issuer, which is also where it is."""
        return self.server.url

    def price(self, sku: str, amount: str) -> str:
        """Let the shop change a price; returns the command that did."""
        self.server.command("demo_price", sku, amount)
        return f"manage.py demo_price {sku} {amount}"

    def agent(self, scope: str = "") -> Agent:
        """Return Alice's agent, signed in to her account with these scopes."""
        token = self.server.command(
            "demo_token", "alice", "--client-id", CLIENT_ID, "--scope", scope
        )
        return Agent(self.shop, self.keys, token.strip())

    def effects(self, kind: str) -> list[dict[str, Any]]:
        """Return what really happened of one kind."""
        lines = self.server.command("demo_effects").splitlines()
        found = [json.loads(line) for line in lines]
        return [effect for effect in found if effect["effect"] == kind]


def expect_status(answer: Answer, *statuses: int) -> None:
    """End the tour unless the answer has one of these statuses."""
    wanted = " or ".join(map(str, statuses))
    shown = answer.text.strip()[:300]
    expect(answer.status in statuses, f"{answer.line}, and not {wanted}: {shown}")


def form_of(browser: Browser, name: str, value: str | None = None) -> Form:
    """Return the form of the page that is shown which has this field, and a button."""
    form = browser.page.form_with(name, value)
    if form is None or not form.buttons:
        message = f"The page {browser.page.title!r} has no form with {name} and a button."
        raise Surprise(message)
    return form
