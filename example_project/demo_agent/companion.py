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

from example_project.demo_agent.endpoint import (
    APPROVED,
    PERFORMED,
    PERFORMING,
    RECORDED,
    Told,
    told_by,
)
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
    is_performing: bool = False
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

    def is_not(self, operation: Mapping[str, Any]) -> bool:
        """Whether it is about another revision."""
        return bool(self.operation["revision"] != operation["revision"])


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
        browser.open(answer.json()["url"])
        is_in = browser.page.url == self._order_page
        did = "am signed in as Alice" if is_in else "am not signed in"
        self._tell("browser", f"I used the ticket, and {did}.", *browser.answers)
        self.browser = browser if is_in else None

    @property
    def _order_page(self) -> str:
        return f"{self.shop}/orders/{ORDER}/"

    # Asking

    def _ask(self, sku: str) -> None:
        browser = self._in_the_shop()
        wanted = sku if sku in CHOICES else WANTED
        opened = len(browser.answers)
        if not self._send_the_form(browser, wanted):
            return
        asked = {"order_id": ORDER, "item_id": ITEM, "replacement_sku": wanted}
        self._heed_instruction = True
        self._after(f"I sent the form: exchange for the {CHOICES[wanted]}.", opened, asked)

    def _send_the_form(self, browser: Browser, sku: str) -> bool:
        if not self._is_signed_in(browser):
            return False
        form = form_of(browser, "item_id", ITEM)
        browser.submit(form, {"replacement_sku": sku}, form.buttons[0])
        return True

    def _continue(self) -> None:
        browser = self._in_the_shop()
        if self.question is None:
            return
        opened = len(browser.answers)
        form = browser.page.form_with("replacement_sku")
        is_told = browser.page.url != self._order_page
        if not is_told or form is None or not form.buttons:
            # What stands between has put its own page here, or the browser is back in the shop.
            if self._send_the_form(browser, self.question.asked["replacement_sku"]):
                self._after("I sent the form again.", opened, self.question.asked)
            return
        browser.submit(form, button=form.buttons[0])
        self._after("I pressed Continue.", opened, self.question.asked)

    def _after(self, did: str, opened: int, asked: Mapping[str, str]) -> None:
        """Go on from what came of the browser's request."""
        answers = self._in_the_shop().answers[opened:]
        reference = next(filter(None, map(self._reference_of_mine, answers)), None)
        before = self.question or self._earlier
        if reference is None:
            self._tell("browser", f"{did} The shop asked for no approval.", *answers)
            self._find_out(before)
            return
        self._tell("browser", f"{did} The shop refused that: it wants approval first.", *answers)
        if before is not None and before.approved_by:
            told = self._look_at(before)
            if told.status == PERFORMED and before.asked == asked:
                self.question, self.is_done = None, True
                self._tell("agent", "That was done already. I do not approve it a second time.")
                return
        self.is_done = False
        self._read(reference, asked, before)

    def _reference_of_mine(self, answer: Answer) -> Reference | None:
        """Take a reference only from the shop's own answer, and for this agent's Session (4)."""
        reference = reference_in(answer)
        is_mine = reference is not None and reference.sid == SESSION_ID
        return reference if is_mine and origin_of(answer.url) == self.shop else None

    def _find_out(self, before: Question | None) -> None:
        """Learn from the endpoint what was done: a page that was answered says nothing of it."""
        told = Told() if before is None else self._look_at(before)
        self.is_done = told.status == PERFORMED
        self._earlier = before
        if before is None:
            self._tell("agent", "I have approved nothing, so nothing was done that I know of.")
        elif told.operation is None and told.status not in {APPROVED, PERFORMING}:
            self.question = None
        elif told.operation is not None and (before.approved_by or before.is_not(told.operation)):
            self._heed_instruction = False
            self._take(told.operation, before.reference, before.asked, before)
        elif self.question is not None:
            self.question.is_performing = told.status == PERFORMING
        if not self.is_done:
            self._is_signed_in(self._in_the_shop())

    def _is_signed_in(self, browser: Browser) -> bool:
        """Open the order, and see whether the shop still shows it; if not, the agent is let in."""
        opened = len(browser.answers)
        browser.open(self._order_page)
        is_in = browser.page.url == self._order_page
        if not is_in:
            shown = browser.answers[opened:]
            self._tell("browser", "I am no longer signed in to the shop.", *shown)
            self.browser = None
        return is_in

    def _look_at(self, question: Question) -> Told:
        """Ask where an earlier operation stands: it must not be approved twice over (7)."""
        answer = self._at_the_endpoint(question.reference)
        told = told_by(answer)
        self._tell("agent", f"I asked about the earlier operation: {told.words}.", answer)
        return told

    def _read(
        self, reference: Reference, asked: Mapping[str, str], before: Question | None
    ) -> None:
        answer = self._at_the_endpoint(reference)
        told = told_by(answer)
        if told.operation is None:
            self.question = None
            self._tell("agent", f"I sent the reference from the header: {told.words}.", answer)
            return
        self._tell("agent", "I sent the reference from the header, and got the terms.", answer)
        self._take(told.operation, reference, asked, before)

    def _take(
        self,
        operation: dict[str, Any],
        reference: Reference,
        asked: Mapping[str, str],
        before: Question | None,
    ) -> None:
        """Let an operation be the one that is asked about, beside an earlier revision of it."""
        is_same = (
            before is not None
            and before.operation["operation_id"] == operation["operation_id"]
            and before.is_not(operation)
        )
        earlier = before.operation["terms"] if is_same and before is not None else None
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
        told = told_by(answer)
        why = "as you said" if approver == "user" else f"as you instructed: {self.instruction}"
        if told.status == RECORDED:
            self._tell("agent", f"I approved exactly these terms, {why}.", answer)
            question.approved_by = approver
            return
        self._tell("agent", f"I sent an approval, {why}, and it is not on record.", answer)
        self._find_out(question)

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
