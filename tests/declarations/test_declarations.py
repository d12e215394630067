"""What a declaration refuses, when the site's module is imported and not at an agent's request."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any
from unittest.mock import Mock

import pytest
from django.forms import Form
from django.http import HttpResponse
from django.utils.translation import gettext_lazy

from poppy_operations import (
    Action,
    ApprovedOperation,
    CurrentOperation,
    Decline,
    Each,
    NotPerformed,
    Owner,
    Performed,
    Refusal,
    Terms,
    operation_of,
)
from poppy_operations.declarations.registry import registry
from poppy_operations.declarations.terms import LazyTerms
from poppy_operations.protocol.canonical import UnrepresentableTerms

Declared = Callable[..., Action]


@pytest.fixture
def actions() -> Iterator[Declared]:
    """Declares actions that are forgotten after the test."""
    declared = []

    def declare(name: str, **arguments: Any) -> Action:
        declared.append(Action(name, **{"effects": "external", **arguments}))
        return declared[-1]

    yield declare
    for action in declared:
        registry.discard(action)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": ""}, "1 to 100 characters"),
        ({"name": "n" * 101}, "1 to 100 characters"),
        ({"name": "a\x00"}, "no line breaks, control characters or outer spaces"),
        ({"name": "a\nb"}, "no line breaks"),
        ({"name": "a\u2028b"}, "no line breaks"),
        ({"name": "a\u202eb"}, "no line breaks"),
        ({"name": "a\ud800"}, "no line breaks"),
        ({"name": " a"}, "outer spaces"),
        ({"effects": "none"}, "not 'none'"),
        ({"effects": ["database"]}, r"not \['database'\]"),
        ({"prefix": "Ex-1"}, "1 to 16 of a-z and 0-9, not 'Ex-1'"),
        ({"prefix": ""}, "1 to 16"),
        ({"prefix": 7}, "1 to 16"),
        ({"approvers": ()}, r'lists "user", "agent" or both, not \(\)'),
        ({"approvers": ("nobody",)}, 'lists "user", "agent" or both'),
        ({"approvers": ["user", None]}, r"not \('user', None\)"),
        ({"approvers": [["user"]]}, 'lists "user"'),
        ({"lifetime": timedelta(milliseconds=999)}, "lifetime is a timedelta of a second or more"),
        ({"lifetime": timedelta(seconds=-900)}, "lifetime is a timedelta of a second or more"),
        ({"lifetime": timedelta(days=3651)}, "of 3650 days at most"),
        ({"lifetime": timedelta.max}, "of 3650 days at most"),
        ({"lease": timedelta(0)}, "lease is a timedelta of a second or more"),
        ({"lease": timedelta.max}, "of 3650 days at most"),
        ({"background": True}, "background=True runs perform=, which is missing"),
        ({"perform": print}, "needs still= as well"),
        ({"still": print}, "still= is asked before perform=, which is missing"),
        ({"not_performed": (LookupError,)}, "not_performed is for external effects"),
        (
            {"effects": "external", "not_performed": (Exception,)},
            "Exception is raised whatever happened",
        ),
    ],
)
def test_an_action_that_could_never_be_performed_is_refused(
    arguments: dict[str, Any], message: str
) -> None:
    declared: dict[str, Any] = {"name": "tests.refused", "effects": "database", **arguments}

    with pytest.raises(ValueError, match=message):
        Action(declared.pop("name"), **declared)

    assert registry.get("tests.refused") is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": None}, "The name of an action is text, not None"),
        ({"name": b"tests.refused"}, "is text, not b'tests.refused'"),
        ({"lifetime": 900}, r"lifetime is a timedelta, not 900: timedelta\(minutes=15\)"),
        ({"lifetime": None}, "lifetime is a timedelta, not None"),
        ({"lease": 60}, "lease is a timedelta"),
        ({"lease": False}, "lease is a timedelta"),
        ({"approvers": "user"}, r"approvers is a list of .*, not 'user'\. Write \['user'\]"),
        ({"approvers": None}, "approvers is a list"),
        ({"approvers": iter(["user"])}, "approvers is a list"),
        ({"approvers": {"user": "agent"}}, "approvers is a list"),
        ({"website": "False"}, "website is True or False, not an object of the type str"),
        ({"website": 0}, "website is True or False"),
        ({"website": None}, "website is True or False, not None"),
        ({"background": "True"}, "background is True or False"),
        (
            {"not_performed": LookupError},
            r"is a list of exception classes, not LookupError\. Write \[LookupError\]",
        ),
        ({"not_performed": ["LookupError"]}, "lists exception classes, and 'LookupError' is none"),
        ({"not_performed": [LookupError()]}, "lists exception classes"),
        ({"not_performed": [SystemExit]}, "lists exception classes"),
        ({"not_performed": [int]}, "lists exception classes"),
        ({"perform": "shop.ship"}, "perform is a function, not 'shop.ship'"),
        ({"perform": False}, "perform is a function, not False"),
        ({"perform": lambda: None}, "perform is called with the operation, which it does not take"),
        ({"perform": lambda one, other: None}, "perform is called with the operation"),
        ({"perform": lambda *, operation: None}, "perform is called with the operation"),
        ({"still": 1}, "still is a function"),
        ({"still": lambda: None}, "still is called with the operation"),
    ],
)
def test_an_argument_of_another_type_is_refused(arguments: dict[str, Any], message: str) -> None:
    declared: dict[str, Any] = {"name": "tests.refused", "effects": "external", **arguments}

    with pytest.raises(TypeError, match=message):
        Action(declared.pop("name"), **declared)

    assert registry.get("tests.refused") is None


def test_only_the_name_of_an_action_goes_without_a_keyword() -> None:
    with pytest.raises(TypeError, match="positional"):
        Action("tests.refused", "database")  # type: ignore[misc, call-arg]  # that is the point


@pytest.mark.parametrize("listed", [["user"], ("user",), {"user"}, frozenset({"user"})])
def test_a_list_of_any_kind_is_kept_as_it_was(listed: Any, actions: Declared) -> None:
    action = actions("tests.listed", approvers=listed, not_performed=[LookupError])

    if isinstance(listed, list | set):
        listed.clear()
    assert action.approvers == ("user",)
    assert action.not_performed == (LookupError,)


async def answer(*_given: object) -> None:
    """What no door awaits."""


class Called:
    """An object that can be called, and whose call nobody awaits."""

    async def __call__(self, *_given: object) -> None: ...


def yielding(*_given: object) -> Iterator[None]:
    """Code that does not run when it is called."""
    yield


async def ayielding(*_given: object) -> AsyncIterator[None]:
    """The same, async."""
    yield


UNAWAITED = [answer, partial(answer, 1), Called(), Called().__call__]
GENERATORS = [yielding, ayielding, partial(yielding, 1)]


@pytest.mark.parametrize("function", UNAWAITED)
@pytest.mark.parametrize("name", ["perform", "still"])
def test_what_a_worker_calls_is_not_async(name: str, function: Any) -> None:
    functions: dict[str, Any] = {"perform": print, "still": print, name: function}

    with pytest.raises(TypeError, match=rf"tests\.refused: {name} is called, and not awaited"):
        Action("tests.refused", effects="external", background=True, **functions)

    assert registry.get("tests.refused") is None


@pytest.mark.parametrize("function", GENERATORS)
@pytest.mark.parametrize("name", ["perform", "still"])
def test_what_a_worker_calls_is_no_generator(name: str, function: Any) -> None:
    functions: dict[str, Any] = {"perform": print, "still": print, name: function}

    with pytest.raises(TypeError, match=rf"tests\.refused: {name} is a generator"):
        Action("tests.refused", effects="external", background=True, **functions)


@pytest.mark.parametrize(
    ("hook", "message"),
    [
        *((function, "is called, and not awaited") for function in UNAWAITED),
        *((function, "is a generator") for function in GENERATORS),
        (None, "is a function, not None"),
        (Decline(), "is a function, not Decline"),
        (lambda: None, "is called with the operation"),
        (lambda one, two, three: None, "is called with the operation(,| and)"),
    ],
)
@pytest.mark.parametrize("name", ["reconcile", "decline"])
def test_a_hook_that_cannot_be_called_is_refused(
    name: str, hook: Any, message: str, actions: Declared
) -> None:
    action = actions("tests.hooked")

    with pytest.raises(TypeError, match=rf"tests\.hooked: {name} {message}"):
        getattr(action, name)(hook)

    assert (action.reconcile_hook, action.decline_hook) == (None, None)


def test_a_hook_that_does_not_show_what_it_takes_is_taken(actions: Declared) -> None:
    assert actions("tests.hooked", perform=max).perform is max


@pytest.mark.parametrize("name", ["reconcile", "decline"])
def test_a_second_hook_does_not_replace_the_first_in_silence(name: str, actions: Declared) -> None:
    action = actions("tests.hooked")

    def first(*given: Any) -> None: ...

    def second(*given: Any) -> None: ...

    assert getattr(action, name)(first) is first
    with pytest.raises(ValueError, match=rf"tests\.hooked has a {name} hook already, declared by"):
        getattr(action, name)(second)
    assert getattr(action, f"{name}_hook") is first


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rule": "r" * 201}, "1 to 200 characters"),
        ({"rule": ""}, "1 to 200 characters"),
        ({"rule": "over\x00"}, "no line breaks, control characters"),
        ({"rule": None}, "is text, not None"),
        ({"reason": 7}, r"Decline\(reason=…\) is text or None"),
        ({"reason": b"No."}, r"Decline\(reason=…\) is text or None"),
        ({"reason": "No\x00"}, r"The reason of a decline: holds U\+0000"),
        ({"reason": "No\ud800"}, "The reason of a decline: holds a lone surrogate"),
        ({"alternative": "Call us."}, r"Decline\(alternative=…\) is an object such as a dict"),
        ({"alternative": ["Call us."]}, r"Decline\(alternative=…\) is an object such as a dict"),
        ({"alternative": {"a": {1}}}, r"Decline\(alternative=…\) holds what JSON cannot"),
        ({"alternative": {"a": float("nan")}}, r"Decline\(alternative=…\) holds what JSON cannot"),
    ],
)
def test_a_decline_that_cannot_be_stored_or_sent_is_refused(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        Decline(**arguments)


def test_a_decline_is_kept_as_it_is_sent() -> None:
    terms = Terms({"phones": ["1", "2"]})
    ways = LazyTerms(terms)
    decline = Decline(gettext_lazy("No"), {"text": gettext_lazy("No"), "ways": ways, "n": 1})

    assert (decline.reason, type(decline.reason)) == ("No", str)
    assert decline.alternative == {"text": "No", "ways": {"phones": ["1", "2"]}, "n": 1}
    assert Decline(rule="r" * 200).rule == "r" * 200


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (lambda: Refusal("No."), r"Refusal\(…\) is an HttpResponse or None"),
        (lambda: Performed("done"), "unless it is an object, is an HttpResponse or None"),
        (lambda: Performed({}, "201"), r"Performed\(status=…\) is a whole number"),
        (lambda: Performed({}, True), r"Performed\(status=…\) is a whole number"),
    ],
    ids=["refusal", "performed", "text as status", "flag as status"],
)
def test_an_outcome_of_another_type_is_refused(said: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        said()


def test_an_outcome_has_a_response_an_object_or_nothing() -> None:
    response = HttpResponse(status=201)

    assert NotPerformed(response).response is response
    assert Refusal(response).response is response
    assert Performed(response).result is response
    assert Performed({"a": 1}, 201) == Performed({"a": 1}, status=201)
    assert (Performed().result, NotPerformed().response, Refusal().response) == (None, None, None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"values": None}, "Terms is an object such as a dict, not None"),
        ({"values": [("a", 1)]}, "Terms is an object such as a dict, not .* list"),
        ({"values": {}, "needed": None}, r"Terms\(needed=…\) is True or False, not None"),
        ({"values": {}, "needed": "False"}, r"Terms\(needed=…\) is True or False"),
        ({"values": {}, "needed": 0}, r"bool\(…\) makes one of them"),
        ({"values": {}, "summary": False}, r"Terms\(summary=…\) is text or None"),
        ({"values": {}, "summary": b"Buy."}, r"Terms\(summary=…\) is text or None"),
        ({"values": {}, "content": {"a": 1}}, r"Terms\(content=…\) is a form or a serializer"),
        ({"values": {}, "content": Form}, r"Terms\(content=…\) is a form or a serializer"),
    ],
)
def test_terms_of_another_type_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Terms(arguments.pop("values"), **arguments)


def test_a_message_about_terms_does_not_tell_what_they_hold() -> None:
    with pytest.raises(TypeError) as raised:
        Terms({}, needed="4711")  # type: ignore[arg-type]  # that is the point

    assert "4711" not in str(raised.value)


def test_only_the_values_of_terms_go_without_a_keyword() -> None:
    with pytest.raises(TypeError, match="positional"):
        Terms({}, False)  # type: ignore[misc]  # that is the point


def test_each_is_no_object() -> None:
    with pytest.raises(TypeError, match="same_action=Each is written without parentheses"):
        Each()


@pytest.mark.parametrize("summary", ["Buy\x00 it", "Buy \ud800 it"])
def test_a_summary_that_no_database_keeps_is_refused_by_name(summary: str) -> None:
    with pytest.raises(UnrepresentableTerms, match=r"^summary"):
        Terms({"a": 1}, summary=summary).summary_text  # noqa: B018  reading it is the point


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_operation_of_says_what_it_takes(method: str, rf: Any) -> None:
    with pytest.raises(RuntimeError, match=f"This {method} request did not come through") as raised:
        operation_of(rf.generic(method, "/"))

    assert "for a method that the door gates" in str(raised.value)


@pytest.mark.parametrize(
    "given",
    [None, "request", {}, Mock(_request="none"), lambda request: None],
    ids=["none", "text", "dict", "mock", "function"],
)
def test_operation_of_refuses_what_is_no_request(given: Any) -> None:
    with pytest.raises(TypeError, match=r"operation_of\(\) takes the request of a view, not an"):
        operation_of(given)


def test_of_an_approved_operation_nothing_is_missing() -> None:
    known: dict[str, Any] = {
        "operation_id": "op_1",
        "revision": "1-a",
        "idempotency_key": "op_1",
        "owner": Owner("https://agent.example", "usr_1", None),
    }
    approved = ApprovedOperation("shop.buy", {}, **known)

    assert (approved.summary, approved.approval) == (None, None)
    assert isinstance(approved, CurrentOperation)
    for name in known:
        with pytest.raises(TypeError, match=name):
            ApprovedOperation("shop.buy", {}, **{key: known[key] for key in known if key != name})
