"""The demo agent: its keys, its browser, and what it knows of the exchange that Alice wants."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

from example_project.tour.agent import CLIENT_ID, Agent, Reference, approval_of, reference_in
from example_project.tour.browser import Browser
from example_project.tour.commands import run_command
from example_project.tour.narration import Surprise
from example_project.tour.story import ITEM, ORDER, WANTED, expect_status, form_of
from example_project.tour.web import Answer, send
from poppy_operations.testing.agents import PersonalAgent

CHOICES = {
    "stormline-insulated-m": "the insulated jacket in M",
    "stormline-insulated-l": "the insulated jacket in L",
}


@dataclass(frozen=True)
class Note:
    """One thing that happened: who did it, what, and the facts that show it."""

    who: str
    what: str
    facts: str = ""


class Companion:
    """Alice's Personal Agent. One thing at a time, whoever clicks."""

    CAN_DO: ClassVar = frozenset(
        {"join", "ask", "approve", "refuse", "carry-on", "raise-price", "begin-again"}
    )

    def __init__(self, shop: str) -> None:
        self.shop = shop
        self.choices = CHOICES
        self.notes: list[Note] = []
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        self.keys = PersonalAgent(CLIENT_ID)
        self.browser: Browser | None = None
        self.operation: dict[str, Any] | None = None
        self.approved = False
        self._reference: Reference | None = None
        self._agent: Agent | None = None
        self._document: dict[str, Any] = {}

    @property
    def terms(self) -> str:
        """The terms that wait for Alice, to be shown as they are."""
        return "" if self.operation is None else _shown(self.operation["terms"])

    def do(self, what: str, sku: str) -> None:
        """Do one thing of ``CAN_DO``; what goes wrong is noted like everything else."""
        steps: dict[str, Callable[[], None]] = {
            "join": self._join,
            "ask": lambda: self._ask(sku),
            "approve": self._approve,
            "refuse": self._refuse,
            "carry-on": self._carry_on,
            "raise-price": self._raise_price,
            "begin-again": self._begin_again,
        }
        with self._lock:
            try:
                steps[what]()
            except (Surprise, OSError, HTTPException, LookupError, ValueError) as error:
                self._note("agent", "Something is not as it should be.", str(error) or repr(error))

    def _note(self, who: str, what: str, *facts: str) -> None:
        self.notes.append(Note(who, what, "\n".join(fact for fact in facts if fact)))

    def _join(self) -> None:
        self._document = send("GET", f"{self.shop}/.well-known/poppy.json", {}).json()
        self._note("agent", "I read what the shop offers.", _shown(self._document["extensions"]))
        with tempfile.TemporaryDirectory() as folder:
            key_set = Path(folder) / "agent.jwks.json"
            key_set.write_text(json.dumps(self.keys.jwks))
            _staff("poppy_agents", "add", CLIENT_ID, "--jwks", str(key_set), "--name", "Demo agent")
        self._note("shop", "Our staff put this agent on our allow-list.", f"client ID: {CLIENT_ID}")
        scope = "poppy:browser-sign-in"
        token = _staff("demo_token", "alice", "--client-id", CLIENT_ID, "--scope", scope).strip()
        self._agent = Agent(self._document["issuer"], self.keys, token)
        answer = self._agent.post(
            self._document["web"]["browser_session_endpoint"], {"return_to": f"/orders/{ORDER}/"}
        )
        expect_status(answer, 200)
        browser = Browser()
        expect_status(browser.open(answer.json()["url"]), 200)
        self.browser = browser
        self._note("browser", "I joined the Session and am signed in as Alice.", answer.line)

    def _ask(self, sku: str) -> None:
        browser = self._in_the_shop()
        browser.open(f"{self.shop}/orders/{ORDER}/")
        form = form_of(browser, "item_id", ITEM)
        wanted = sku if sku in CHOICES else WANTED
        answer = browser.submit(form, {"replacement_sku": wanted}, form.buttons[0])
        self._after(answer, f"I submitted the form: exchange the jacket for {CHOICES[wanted]}.")

    def _carry_on(self) -> None:
        browser = self._in_the_shop()
        form = form_of(browser, "replacement_sku")
        self._after(browser.submit(form, button=form.buttons[0]), "I pressed Continue.")

    def _after(self, answer: Answer, did: str) -> None:
        """Note what came of the browser's request, and look up what waits for approval."""
        reference = reference_in(answer)
        if reference is None:
            self._note("browser", f"{did} The shop did it.", answer.line)
            self._look_at_the_earlier()
            self.operation, self._reference, self.approved = None, None, False
            return
        header = f"Poppy-Operation: {answer.header('Poppy-Operation')}"
        self._note("browser", f"{did} The shop did nothing, and waits.", answer.line, header)
        self._look_at_the_earlier()
        found = self._at_the_endpoint(reference)
        expect_status(found, 403)
        self._reference, self.operation, self.approved = reference, found.json()["operation"], False
        self._note("agent", "I looked the reference up at the shop's endpoint.", found.line)

    def _look_at_the_earlier(self) -> None:
        if self._reference is None:
            return
        earlier = self._at_the_endpoint(self._reference)
        self._note("agent", "I asked about the earlier reference.", earlier.line, earlier.text)

    def _approve(self) -> None:
        if self._reference is None or self.operation is None:
            return
        answer = self._at_the_endpoint(self._reference, approval_of(self.operation))
        expect_status(answer, 204)
        self.approved = True
        self._note("you", "Yes, do that.", f"revision {self.operation['revision']}")
        self._note("agent", "I sent your approval of exactly these terms.", answer.line)

    def _refuse(self) -> None:
        self.operation, self.approved = None, False
        self._note("you", "No, leave it.")
        self._note("agent", "I send nothing. Without an approval the shop does nothing.")

    def _raise_price(self) -> None:
        terms = {} if self.operation is None else self.operation["terms"]
        sku = terms.get("replacement_sku", WANTED)
        said = _staff("demo_price", sku, "225.00" if sku == WANTED else "235.00")
        self._note("shop", "We change a price.", said.strip())

    def _begin_again(self) -> None:
        _staff("demo_seed", "--reset")
        self.notes.clear()
        self._forget()

    def _in_the_shop(self) -> Browser:
        if self.browser is None:
            message = "The agent's browser is not in the shop yet."
            raise Surprise(message)
        return self.browser

    def _at_the_endpoint(
        self, reference: Reference, approval: dict[str, str | int] | None = None
    ) -> Answer:
        if self._agent is None:
            message = "The agent has no Session yet."
            raise Surprise(message)
        endpoint = self._document["extensions"]["operations"][0]["endpoint"]
        return self._agent.post(endpoint, {"ref": reference.ref}, approval=approval)


def shop_address() -> str:
    """Return where the shop is: the port that both were started with."""
    return f"http://127.0.0.1:{os.environ.get('PORT') or '8000'}"


def _staff(*arguments: str) -> str:
    return run_command(*arguments, environment=os.environ)


def _shown(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
