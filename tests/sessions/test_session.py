from __future__ import annotations

import pytest

from poppy_operations.protocol.owner import Owner
from poppy_operations.sessions.refusals import (
    InsufficientScope,
    InvalidSession,
    InvalidToken,
    InvalidVersion,
    KeysUnavailable,
    SessionRefused,
)
from poppy_operations.sessions.session import Session


def test_an_operation_belongs_to_the_sessions_agent_user_and_account() -> None:
    session = Session("https://agent.example/client", "u1", "7", "ses_1", declared=True)
    assert session.owner == Owner("https://agent.example/client", "u1", "7")


def test_two_sessions_of_the_same_three_have_the_same_owner() -> None:
    one = Session("https://agent.example/client", "u1", None, "ses_1", declared=True)
    other = Session("https://agent.example/client", "u1", None, "ses_2", declared=False)
    assert one.owner == other.owner


@pytest.mark.parametrize(
    "refusal", [InvalidSession, InvalidToken, InvalidVersion, KeysUnavailable, InsufficientScope]
)
def test_every_refusal_can_be_caught_as_one(refusal: type[SessionRefused]) -> None:
    assert issubclass(refusal, SessionRefused)


def test_a_missing_scope_is_named() -> None:
    assert InsufficientScope("orders:write").scope == "orders:write"


def test_unavailable_keys_say_when_to_try_again() -> None:
    assert KeysUnavailable("later", retry_after=7).retry_after == 7
