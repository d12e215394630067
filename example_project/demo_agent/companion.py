"""The demo agent: its keys, its browser, and what it knows of the exchange that Alice wants."""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from http.client import HTTPException
from pathlib import Path
from threading import Lock
from typing import Any

from example_project.demo_agent.instruction import Instruction, instruction_of
from example_project.demo_agent.terms import Row, disagreements, rows
from example_project.demo_agent.wire import Exchange
from example_project.tour.agent import (
    CLIENT_ID,
    SESSION_ID,
    Agent,
    Reference,
    approval_of,
    reference_in,
)
from example_project.tour.browser import Browser, origin_of
from example_project.tour.commands import run_command
from example_project.tour.narration import Surprise
from example_project.tour.story import ITEM, ORDER, WANTED, expect_status, form_of
from example_project.tour.web import Answer, send
from poppy_operations.testing.agents import PersonalAgent

CHOICES = {
    "stormline-insulated-m": "Stormline Insulated Jacket (M)",
    "stormline-insulated-l": "Stormline Insulated Jacket (L)",
}
RAISED = {"stormline-insulated-m": "225.00", "stormline-insulated-l": "235.00"}
BROWSER_SCOPE = "poppy:browser-sign-in"
STEPS = ("Ask", "Read", "Approve", "Done")


@dataclass(frozen=True)
class Moment:
    """One thing that happened: who did it, what, and which exchanges on the wire show it."""

    who: str
    what: str
    exchanges: tuple[Exchange, ...] = ()


@dataclass
class Question:
    """An operation that waits for an answer, with what the agent found when it looked at it."""

    operation: dict[str, Any]
    reference: Reference
    asked: Mapping[str, str]
    earlier: Mapping[str, Any] | None
    approved_by: str = ""
    reasons: list[str] = field(default_factory=list)

    @property
    def summary(self) -> str:
        """The Company's own words, where it sent some."""
        return str(self.operation.get("summary", ""))

    @property
    def rows(self) -> list[Row]:
        """The terms, beside those of an earlier revision where there was one."""
        return rows(self.operation["terms"], self.earlier)

    @property
    def until(self) -> datetime:
        """Until when an approval is accepted."""
        return datetime.fromisoformat(self.operation["expires_at"])


class Companion:
    """Alice's Personal Agent. One thing at a time, whoever clicks."""

    def __init__(self, shop: str) -> None:
        self.shop = shop
        self.choices = CHOICES
        self.steps = STEPS
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        self.keys = PersonalAgent(CLIENT_ID)
        self.moments: list[Moment] = []
        self.wire: list[Exchange] = []
        self.seen = 0  # how many of them were there before the newest click
        self.browser: Browser | None = None
        self.question: Question | None = None
        self.instruction: Instruction | None = None
        self.is_done = False
        self._earlier: Question | None = None
        self._heed_instruction = True
        self._agent: Agent | None = None
        self._document: dict[str, Any] = {}

    @property
    def company(self) -> str:
        """The name under which the Company publishes its interfaces."""
        return str(self._document.get("name", "The shop"))

    @property
    def step(self) -> int:
        """Which of ``steps`` is the current one, from 1."""
        if self.question is None:
            return 4 if self.is_done else 1
        return 3 if self.question.approved_by else 2

    def do(self, what: str, values: Mapping[str, str]) -> bool:
        """Do one thing, and note whatever goes wrong. Returns whether there is such a thing."""
        steps: dict[str, Callable[[], None]] = {
            "join": self._join,
            "ask": lambda: self._ask(values.get("sku", "")),
            "approve": self._approve_as_user,
            "refuse": self._refuse,
            "continue": self._continue,
            "instruct": lambda: self._instruct(values.get("limit", "")),
            "withdraw": self._withdraw,
            "raise-price": self._raise_price,
            "begin-again": self._begin_again,
        }
        if what not in steps:
            return False
        with self._lock:
            self.seen = len(self.wire)
            try:
                steps[what]()
            except (Surprise, OSError, HTTPException, LookupError, ValueError) as error:
                self._tell("problem", str(error) or repr(error))
        return True

    def _tell(self, who: str, what: str, *answers: Answer) -> None:
        sender = "Browser" if who == "browser" else "Agent"
        first = len(self.wire) + 1
        seen = tuple(Exchange(first + index, sender, one) for index, one in enumerate(answers))
        self.wire.extend(seen)
        self.moments.append(Moment(who, what, seen))

    # Into the shop

    def _join(self) -> None:
        found = send("GET", f"{self.shop}/.well-known/poppy.json", {"Accept": "application/json"})
        self._document = found.json()
        self._tell("agent", f"I read what {self.company} offers to Personal Agents.", found)
        with tempfile.TemporaryDirectory() as folder:
            key_set = Path(folder) / "agent.jwks.json"
            key_set.write_text(json.dumps(self.keys.jwks))
            _staff("poppy_agents", "add", CLIENT_ID, "--jwks", str(key_set), "--name", "Demo agent")
        self._tell("shop", "Our staff put this agent, with its public key, on our list.")
        token = _staff("demo_token", "alice", "--client-id", CLIENT_ID, "--scope", BROWSER_SCOPE)
        self._agent = Agent(self._document["issuer"], self.keys, token.strip())
        answer = self._agent.post(
            self._document["web"]["browser_session_endpoint"], {"return_to": f"/orders/{ORDER}/"}
        )
        self._tell("agent", "I asked for a ticket that lets my browser in, once.", answer)
        expect_status(answer, 200)
        browser = Browser()
        expect_status(browser.open(answer.json()["url"]), 200)
        self.browser = browser
        self._tell("browser", "I used the ticket, and am signed in as Alice.", *browser.answers)

    # Asking

    def _ask(self, sku: str) -> None:
        browser = self._in_the_shop()
        wanted = sku if sku in CHOICES else WANTED
        opened = len(browser.answers)
        self._send_the_form(browser, wanted)
        asked = {"order_id": ORDER, "item_id": ITEM, "replacement_sku": wanted}
        self._heed_instruction = True
        self._after(f"I sent the form: exchange for the {CHOICES[wanted]}.", opened, asked)

    def _send_the_form(self, browser: Browser, sku: str) -> None:
        browser.open(f"{self.shop}/orders/{ORDER}/")
        form = form_of(browser, "item_id", ITEM)
        browser.submit(form, {"replacement_sku": sku}, form.buttons[0])

    def _continue(self) -> None:
        browser = self._in_the_shop()
        if self.question is None:
            return
        opened = len(browser.answers)
        form = browser.page.form_with("replacement_sku")
        if form is None or not form.buttons:  # What stands between has put its own page here.
            self._send_the_form(browser, self.question.asked["replacement_sku"])
            self._after("I sent the form again.", opened, self.question.asked)
            return
        browser.submit(form, button=form.buttons[0])
        self._after("I pressed Continue.", opened, self.question.asked)

    def _after(self, did: str, opened: int, asked: Mapping[str, str]) -> None:
        """Go on from what came of the browser's request."""
        answers = self._in_the_shop().answers[opened:]
        reference = next(filter(None, map(self._reference_of_mine, answers)), None)
        before = self.question or self._earlier
        if reference is None or self._agent is None:
            self._tell("browser", f"{did} The shop did it.", *answers)
            self._earlier, self.question, self.is_done = self.question, None, True
            if before is not None:
                self._look_at(before.reference)
            return
        self._tell("browser", f"{did} The shop did nothing: it wants approval first.", *answers)
        if before is not None and before.approved_by:
            status = self._look_at(before.reference)
            if status == "performed" and before.asked == asked:
                self.question = None
                self._tell("agent", "That was done already. I do not approve it a second time.")
                return
        self.is_done = False
        self._read(reference, asked, before)

    def _reference_of_mine(self, answer: Answer) -> Reference | None:
        """Take a reference only from the shop's own answer, and for this agent's Session (4)."""
        reference = reference_in(answer)
        is_mine = reference is not None and reference.sid == SESSION_ID
        return reference if is_mine and origin_of(answer.url) == self.shop else None

    def _look_at(self, reference: Reference) -> str:
        """Ask where an earlier operation stands: it must not be approved twice over (7)."""
        answer = self._at_the_endpoint(reference)
        status = answer.json().get("status", "") if answer.status == 200 else ""
        told = f"it is {status}" if status else "it was not done"
        self._tell("agent", f"I asked about the earlier operation: {told}.", answer)
        return str(status)

    def _read(
        self, reference: Reference, asked: Mapping[str, str], before: Question | None
    ) -> None:
        answer = self._at_the_endpoint(reference)
        if answer.status == 400:
            self.question = None
            self._tell("agent", "The shop no longer knows this reference. Ask again.", answer)
            return
        expect_status(answer, 403)
        operation = answer.json()["operation"]
        is_same = (
            before is not None
            and before.operation["operation_id"] == operation["operation_id"]
            and before.operation["revision"] != operation["revision"]
        )
        earlier = before.operation["terms"] if is_same and before is not None else None
        self._tell("agent", "I sent the reference from the header, and got the terms.", answer)
        self.question = Question(operation, reference, asked, earlier)
        if before is not None and is_same and before.approved_by == "agent":
            self._heed_instruction = False  # One instruction covers one revision only (5).
        self._decide()

    # Approving

    def _decide(self) -> None:
        """Approve on Alice's instruction if it covers the terms, else ask her."""
        question = self.question
        if question is None or question.approved_by:
            return
        question.reasons = disagreements(question.operation, question.asked)
        if self.instruction is None:
            return
        if not self._heed_instruction:
            question.reasons.append(
                "The terms changed after I approved on your instruction, so I ask you."
            )
        elif not question.reasons:
            reason = self.instruction.reason_not_covered(question.operation["terms"])
            if not reason:
                self._approve("agent")
                return
            question.reasons.append(reason)

    def _approve_as_user(self) -> None:
        if self.question is not None and not self.question.approved_by:
            self._tell("you", "Yes, do that.")
            self._approve("user")

    def _approve(self, approver: str) -> None:
        question = self.question
        if question is None:
            return
        approval = approval_of(question.operation, approver=approver)
        approval["reference"] = f"apr_{secrets.token_hex(8)}"
        answer = self._at_the_endpoint(question.reference, approval)
        why = "as you said" if approver == "user" else f"as you instructed: {self.instruction}"
        self._tell("agent", f"I approved exactly these terms, {why}.", answer)
        expect_status(answer, 204)
        question.approved_by = approver

    def _refuse(self) -> None:
        if self.question is not None and not self.question.approved_by:
            self.question = None
            self._tell("you", "No, leave it.")
            self._tell("agent", "I send nothing. Without an approval the shop does nothing.")

    def _instruct(self, limit: str) -> None:
        instruction = instruction_of(limit)
        if instruction is None:
            self._tell("problem", "An instruction names an amount, such as 100.")
            return
        self.instruction = instruction
        self._tell("you", f"Go ahead with {instruction}, without asking me.")
        self._heed_instruction = True
        self._decide()

    def _withdraw(self) -> None:
        self.instruction = None
        self._tell("you", "From now on, ask me every time.")
        self._decide()

    # The shop's part, and the beginning

    def _raise_price(self) -> None:
        sku = WANTED if self.question is None else self.question.asked["replacement_sku"]
        said = _staff("demo_price", sku, RAISED[sku])
        self._tell("shop", f"We raised a price meanwhile: {said.strip()}")

    def _begin_again(self) -> None:
        _staff("demo_seed", "--reset")
        self._forget()

    def _in_the_shop(self) -> Browser:
        if self.browser is None:
            message = "The agent's browser is not in the shop yet."
            raise Surprise(message)
        return self.browser

    def _at_the_endpoint(
        self, reference: Reference, approval: Mapping[str, str | int] | None = None
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
