from __future__ import annotations

from typing import Any

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
from poppy_operations.sessions.tokens import AccessToken


def test_an_operation_belongs_to_the_sessions_agent_user_and_account() -> None:
    session = Session("https://agent.example/client", "u1", "7", "ses_1", declared=True)
    assert session.owner == Owner("https://agent.example/client", "u1", "7")


def test_two_sessions_of_the_same_three_have_the_same_owner() -> None:
    one = Session("https://agent.example/client", "u1", None, "ses_1", declared=True)
    other = Session("https://agent.example/client", "u1", None, "ses_2", declared=False)
    assert one.owner == other.owner


KNOWN: dict[str, Any] = {
    "client_id": "https://agent.example/client",
    "user_id": "u1",
    "account": None,
    "sid": "ses_1",
    "declared": True,
}
TOKEN: dict[str, Any] = {
    "account": "7",
    "client_id": "https://agent.example/client",
    "scope": frozenset(),
    "expires_at": 1,
}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("client_id", None, r"Session\.client_id is text, not None"),
        ("user_id", 7, r"Session\.user_id is text, .*str\(…\) makes text of a number"),
        ("account", 7, r"Session\.account is text"),
        ("sid", b"ses_1", r"Session\.sid is text"),
        ("declared", "False", r"Session\.declared is True or False"),
        ("declared", None, r"Session\.declared is True or False"),
        ("scope", "orders:write", r"Session\.scope is a list of scopes"),
        ("scope", None, r"Session\.scope is a list of scopes"),
        ("scope", [b"orders:write"], r"Session\.scope is a list of scopes, and each"),
        ("token_expires_at", "1", r"Session\.token_expires_at is a whole number"),
    ],
)
def test_a_session_of_the_sites_own_making_has_the_right_types(
    name: str, value: Any, message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        Session(**{**KNOWN, name: value})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("account", 7, r"AccessToken\.account is text"),
        ("account", None, r"AccessToken\.account is text, not None"),
        ("client_id", None, r"AccessToken\.client_id is text"),
        ("scope", "orders:write orders:read", r"AccessToken\.scope is a list of scopes"),
        ("expires_at", 1.5, r"AccessToken\.expires_at is a whole number"),
        ("expires_at", None, r"AccessToken\.expires_at is a whole number"),
    ],
)
def test_a_token_of_the_sites_own_reading_has_the_right_types(
    name: str, value: Any, message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        AccessToken(**{**TOKEN, name: value})


@pytest.mark.parametrize("listed", [["a"], ("a",), {"a"}, frozenset({"a"})])
def test_the_scopes_of_any_list_are_a_set(listed: Any) -> None:
    assert Session(**KNOWN, scope=listed).scope == {"a"}
    assert AccessToken(**{**TOKEN, "scope": listed}).scope == frozenset({"a"})


@pytest.mark.parametrize(
    "refusal", [InvalidSession, InvalidToken, InvalidVersion, KeysUnavailable, InsufficientScope]
)
def test_every_refusal_can_be_caught_as_one(refusal: type[SessionRefused]) -> None:
    assert issubclass(refusal, SessionRefused)


def test_a_missing_scope_is_named() -> None:
    assert InsufficientScope("orders:write").scope == "orders:write"


def test_unavailable_keys_say_when_to_try_again() -> None:
    assert KeysUnavailable("later", retry_after=7).retry_after == 7
