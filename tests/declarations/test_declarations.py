"""What a declaration refuses, when the site's module is imported and not at an agent's request."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from poppy_operations import Action, Decline, Terms
from poppy_operations.declarations.current import operation_of
from poppy_operations.declarations.registry import registry
from poppy_operations.protocol.canonical import UnrepresentableTerms


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": ""}, "1 to 100 characters"),
        ({"name": "n" * 101}, "1 to 100 characters"),
        ({"effects": "none"}, "not 'none'"),
        ({"prefix": "Ex-1"}, "1 to 16 of a-z and 0-9, not 'Ex-1'"),
        ({"prefix": ""}, "1 to 16"),
        ({"approvers": ()}, 'approvers holds "user"'),
        ({"approvers": ("nobody",)}, 'approvers holds "user"'),
        ({"lifetime": timedelta(milliseconds=999)}, "lifetime is a timedelta of a second or more"),
        ({"lifetime": 900}, "lifetime is a timedelta"),
        ({"lease": timedelta(0)}, "lease is a timedelta of a second or more"),
        ({"lease": 60}, "lease is a timedelta"),
        ({"background": True}, "background=True runs perform=, which is missing"),
        ({"perform": print}, "needs still= as well"),
        ({"still": print}, "still= is asked before perform=, which is missing"),
        ({"not_performed": (LookupError,)}, "not_performed= is for external effects"),
    ],
)
def test_an_action_that_could_never_be_performed_is_refused(
    arguments: dict[str, Any], message: str
) -> None:
    declared: dict[str, Any] = {"name": "tests.refused", "effects": "database", **arguments}

    with pytest.raises(ValueError, match=message):
        Action(**declared)

    assert registry.get(declared["name"]) is None


async def answer(*_given: object) -> None:
    """What no door awaits."""


@pytest.mark.parametrize("name", ["perform", "still"])
def test_what_a_worker_calls_is_not_async(name: str) -> None:
    functions: dict[str, Any] = {"perform": print, "still": print, name: answer}

    with pytest.raises(TypeError, match=rf"tests\.refused: {name} is called, and not awaited"):
        Action("tests.refused", effects="external", background=True, **functions)

    assert registry.get("tests.refused") is None


@pytest.mark.parametrize("name", ["reconcile", "decline"])
def test_a_hook_is_not_async(name: str) -> None:
    action = Action("tests.hooked", effects="external")
    try:
        with pytest.raises(TypeError, match=rf"tests\.hooked: {name} is called, and not awaited"):
            getattr(action, name)(answer)
        assert (action.reconcile_hook, action.decline_hook) == (None, None)
    finally:
        registry.discard(action)


def test_the_name_of_an_action_is_used_once() -> None:
    action = Action("tests.once", effects="external")
    try:
        with pytest.raises(ValueError, match=r"Two actions are called 'tests\.once'"):
            Action("tests.once", effects="external")
    finally:
        registry.discard(action)


def test_a_decline_whose_rule_cannot_be_stored_is_refused() -> None:
    assert Decline(rule="r" * 200).rule == "r" * 200

    with pytest.raises(ValueError, match="at most 200 characters"):
        Decline(rule="r" * 201)


@pytest.mark.parametrize("summary", ["Buy\x00 it", "Buy \ud800 it"])
def test_a_summary_that_no_database_keeps_is_refused_by_name(summary: str) -> None:
    with pytest.raises(UnrepresentableTerms, match=r"^summary"):
        Terms({"a": 1}, summary=summary).summary_text  # noqa: B018  reading it is the point


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_operation_of_says_what_it_takes(method: str, rf: Any) -> None:
    with pytest.raises(RuntimeError, match=f"This {method} request did not come through") as raised:
        operation_of(rf.generic(method, "/"))

    assert "for a method that the door gates" in str(raised.value)
