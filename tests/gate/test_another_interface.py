"""Another interface is a row in the table and a door: the gate is as it was.

The interface here is thrown away after each test. It takes plain dictionaries and answers with
them, and nothing about it knows HTTP.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from poppy_operations import Action, NotPerformed, Terms
from poppy_operations.browser.state import Browser
from poppy_operations.declarations.outcomes import Verdict
from poppy_operations.declarations.registry import registry
from poppy_operations.gate import order
from poppy_operations.gate.answers import (
    Answer,
    ApprovalRequired,
    ErrorAnswer,
    PlainlyPerformed,
    Replay,
    SiteAnswer,
)
from poppy_operations.gate.calls import Call
from poppy_operations.gate.comparing import RequestContent
from poppy_operations.gate.sync_and_async import drive
from poppy_operations.models import Operation
from poppy_operations.protocol import interfaces
from poppy_operations.protocol.approval import ApprovalStatement
from poppy_operations.protocol.stored_answer import StoredAnswer
from poppy_operations.sessions.session import Session
from tests.shop.models import Effect

TELEGRAM = replace(interfaces.API, name="telegram")
SESSION = Session("https://agent.example/client", "u1", None, "ses_1", declared=True)


@dataclass(frozen=True)
class TelegramAsker:
    """Who asks: a message says it."""

    approval_sent: ApprovalStatement | None
    request: Any = None

    def shows_session(self) -> bool:
        return True

    def session(self) -> Session:
        return SESSION

    def browser(self) -> Browser:
        return Browser(marked=False)

    def is_agent(self) -> bool:
        return True

    def shows_another_token(self) -> bool:
        return False

    def user(self) -> Any:
        return None

    def carries_approval(self) -> bool:
        return self.approval_sent is not None

    def approval(self) -> ApprovalStatement | None:
        return self.approval_sent


class TelegramResults:
    """What the action returns: a dictionary."""

    def is_answer(self, said: object) -> bool:
        return isinstance(said, dict)

    def verdict(self, result: dict[str, Any]) -> Verdict:
        return Verdict.FAILED if "error" in result else Verdict.PERFORMED

    def nothing_happened(self, said: NotPerformed) -> dict[str, Any]:
        return {"error": "nothing happened"}

    def final(self, result: Any) -> Any:
        return result

    def stored(self, result: Any, *, with_body: bool) -> StoredAnswer:
        return StoredAnswer(200, (), json.dumps(result).encode() if with_body else None)

    def again(self, answer: StoredAnswer) -> Any:
        return json.loads(answer.body or b"null")


@dataclass
class Telegrams:
    """The door: it turns a message into a call, and the answer into what the sender reads."""

    action: Action

    def send(
        self, words: str, approval: ApprovalStatement | None = None, *, ending: Any = None
    ) -> Answer:
        def body(operation: Any) -> Any:
            Effect.objects.create(kind="telegram", key=operation.operation_id)
            if isinstance(ending, Exception):
                raise ending
            return ending or {"sent": operation.terms["words"]}

        call = Call(
            action=self.action,
            asker=TelegramAsker(approval),
            results=TelegramResults(),
            content=lambda: RequestContent({"action": self.action.name}, {}, {"words": words}),
            terms=lambda: Terms({"words": words}, summary="Send it."),
            body=body,
            interface=interfaces.INTERFACES["telegram"],
        )
        answered = drive(order.request(call))
        assert answered.interface is TELEGRAM
        return answered.answer


@pytest.fixture
def telegrams(monkeypatch: pytest.MonkeyPatch, db: None) -> Iterator[Telegrams]:
    """An interface that the table has for the time of a test."""
    monkeypatch.setitem(interfaces.INTERFACES, "telegram", TELEGRAM)
    action = Action("tests.telegram", effects="database")
    yield Telegrams(action)
    registry.discard(action)


def approval_of(answer: Answer) -> ApprovalStatement:
    """The User's approval of what was returned."""
    assert isinstance(answer, ApprovalRequired)
    returned = answer.operation
    return ApprovalStatement(returned.operation_id, returned.revision, "user")


def test_another_interface_asks_performs_once_and_answers_again(telegrams: Telegrams) -> None:
    asked = telegrams.send("hello")
    approval = approval_of(asked)
    assert Effect.objects.count() == 0

    assert telegrams.send("hello", approval) == SiteAnswer({"sent": "hello"})
    again = telegrams.send("hello", approval)
    assert isinstance(again, Replay)
    assert bytes(again.performance.body or b"") == b'{"sent": "hello"}'
    assert Effect.objects.count() == 1


def test_another_interface_performs_no_other_terms(telegrams: Telegrams) -> None:
    approval = approval_of(telegrams.send("hello"))
    answer = telegrams.send("goodbye", approval)
    assert isinstance(answer, ApprovalRequired)
    assert json.loads(answer.operation.terms) == {"words": "goodbye"}
    assert Effect.objects.count() == 0


@pytest.mark.parametrize("ending", [{"error": "no line"}, NotPerformed()])
def test_what_says_performed_is_the_doors_to_tell(telegrams: Telegrams, ending: Any) -> None:
    approval = approval_of(telegrams.send("hello"))
    answer = telegrams.send("hello", approval, ending=ending)
    assert isinstance(answer, SiteAnswer)
    assert "error" in answer.result
    assert Effect.objects.count() == 0
    assert Operation.objects.get().state == "open"
    assert telegrams.send("hello", approval) == SiteAnswer({"sent": "hello"})


def test_the_columns_of_the_row_decide(
    telegrams: Telegrams, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeping_nothing = replace(TELEGRAM, stores_body=False)
    approval = approval_of(telegrams.send("hello"))
    monkeypatch.setitem(interfaces.INTERFACES, "telegram", keeping_nothing)
    monkeypatch.setattr("tests.gate.test_another_interface.TELEGRAM", keeping_nothing)
    telegrams.send("hello", approval)
    again = telegrams.send("hello", approval)
    assert isinstance(again, Replay)
    assert again.performance.body is None


def test_approvals_do_not_cross_interfaces(
    telegrams: Telegrams, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval = approval_of(telegrams.send("hello"))
    Operation.objects.update(interface="api")
    answer = telegrams.send("hello", approval)
    assert not isinstance(answer, SiteAnswer | Replay | PlainlyPerformed | ErrorAnswer)
    assert Effect.objects.count() == 0


def test_every_interface_that_rows_can_name_is_in_the_table() -> None:
    assert set(Operation.Interface.values) == set(interfaces.INTERFACES)
