"""What a door refuses at import: arguments that would leave it open, or that it cannot call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, wraps
from typing import Any
from unittest.mock import Mock

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from django.views import View

from poppy_operations import Action, Terms
from poppy_operations.declarations.registry import registry
from poppy_operations.decorators import personal_agents
from poppy_operations.doors.gating import methods_of
from poppy_operations.rest_framework import HasScope

Door = Callable[..., Any]


@pytest.fixture
def action() -> Iterator[Action]:
    declared = Action("doors.refused", effects="external")
    yield declared
    registry.discard(declared)


def terms(request: Any, **kwargs: Any) -> Terms:
    """Terms for whatever is asked."""
    return Terms({})


async def aterms(request: Any, **kwargs: Any) -> Terms:
    """The same, async."""
    return Terms({})


def view(request: Any) -> HttpResponse:
    return HttpResponse("done")


def view_of(request: Any, order_id: int, item_id: int) -> HttpResponse:
    return HttpResponse("done")


@pytest.fixture(params=["view", "api", "gated"])
def door(request: pytest.FixtureRequest, action: Action) -> Door:
    """Puts something behind a door of each kind, with the arguments that are given."""

    def put(**arguments: Any) -> Any:
        if request.param == "gated":

            class Page(View):
                def post(self, request: HttpRequest) -> HttpResponse:
                    return HttpResponse("done")

            return action.gated(**arguments)(Page)
        return getattr(action, request.param)(terms=terms, **arguments)(view)

    return put


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        (["PSOT"], r"'PSOT', which is no HTTP method .* Did you mean POST\?"),
        (["POST", "PSOT"], r"Did you mean POST\?"),
        (["DELTE"], r"Did you mean DELETE\?"),
        (["MOVE"], "which is no HTTP method that a door can leave out"),
        (["POST "], r"Did you mean POST\?"),
        (["colour"], "They are DELETE, GET, HEAD"),
        ([""], "They are DELETE, GET, HEAD"),
        ([None], "names None, which is no HTTP method"),
        ([b"POST"], "which is no HTTP method"),
        ([["POST"]], "which is no HTTP method"),
        ([], "names no HTTP method: nothing would be behind the gate"),
        ((), "names no HTTP method"),
        (set(), "names no HTTP method"),
    ],
    ids=range(13),
)
def test_methods_that_would_leave_another_one_open_are_refused(
    methods: Any, message: str, door: Door
) -> None:
    with pytest.raises(ValueError, match=message):
        door(methods=methods)


@pytest.mark.parametrize(
    "methods", ["POST", b"PUT", None, True, 1, {"POST": True}, iter(["POST"]), view]
)
def test_methods_are_a_list(methods: Any, door: Door) -> None:
    with pytest.raises(TypeError, match="methods= is a list of HTTP methods"):
        door(methods=methods)


def test_methods_go_in_any_list_and_in_any_case() -> None:
    listed: Any
    for listed in (["post"], ("POST",), {"Post"}, frozenset({"POST"})):
        assert set(methods_of(listed)) == {"POST"}
    assert set(methods_of(["GET"])) == {"GET", "HEAD"}


@pytest.mark.parametrize("ignore", ["nonce", b"none", None, True, 1, {"nonce": 1}, iter(["nonce"])])
def test_what_is_ignored_is_a_list(ignore: Any, door: Door) -> None:
    with pytest.raises(TypeError, match="ignore= is a list of names"):
        door(ignore=ignore)


@pytest.mark.parametrize("name", ["", " ", None, 1, b"nonce", ["nonce"]], ids=range(6))
def test_what_is_ignored_has_a_name(name: Any, door: Door) -> None:
    with pytest.raises(TypeError, match="ignore= lists names of fields"):
        door(ignore=["nonce", name])


def test_text_in_place_of_a_list_says_what_to_write(door: Door) -> None:
    with pytest.raises(TypeError, match=r"not 'nonce'\. Write \['nonce'\]"):
        door(ignore="nonce")


class Called:
    """An object whose call is to be awaited."""

    async def __call__(self, request: Any) -> None: ...


def yielding(request: Any) -> Iterator[None]:
    yield


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (False, "allowed= is a function, not False"),
        ("shop.allowed", "allowed= is a function"),
        (HttpResponse(), "allowed= is a function"),
        (yielding, "allowed= is a generator"),
        (lambda: None, "allowed= is called with the request, which it does not take"),
        (lambda **named: None, "allowed= is called with the request"),
        (lambda *, request: None, "allowed= is called with the request,"),
        (lambda request, other: None, "allowed= is called as its view is, with .request., which"),
        (partial(view, None), "allowed= is called with the request, which it does not take"),
        (aterms, "allowed= is async, and the view is not"),
        (partial(aterms, order_id=1), "allowed= is async, and the view is"),
        (Called(), "allowed= is async, and the view is not."),
    ],
    ids=range(12),
)
def test_a_right_that_cannot_be_asked_is_refused(function: Any, message: str, door: Door) -> None:
    with pytest.raises(TypeError, match=message):
        door(allowed=function)


@pytest.mark.parametrize(
    "function", [terms, Mock(), partial(terms, order_id=1), type, dict, None], ids=range(6)
)
def test_a_right_that_can_be_asked_or_does_not_show_it_is_taken(function: Any, door: Door) -> None:
    assert door(allowed=function)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (None, "terms= is a function, not None"),
        (Terms({}), "terms= is a function"),
        (yielding, "terms= is a generator"),
        (lambda: Terms({}), "terms= is called with the request"),
        (lambda request: Terms({}), "as its view is, with .request, order_id, item_id."),
        (lambda request, order_id: Terms({}), "as its view is"),
        (lambda request, order_id, item: Terms({}), None),
        (lambda request, item_id, order_id: Terms({}), None),
        (lambda request, *, item_id, order_id: Terms({}), None),
        (lambda request, *, item_id, order: Terms({}), "as its view is"),
        (lambda request, order_id, item_id, price: Terms({}), "as its view is"),
        (lambda request, order_id, item_id, price=1: Terms({}), None),
        (lambda request, *given: Terms({}), None),
        (lambda request, **named: Terms({}), None),
    ],
    ids=range(14),
)
@pytest.mark.parametrize("how", ["view", "api"])
def test_terms_take_what_their_view_takes(
    how: str, function: Any, message: str | None, action: Action
) -> None:
    put = getattr(action, how)(terms=function)
    if message is None:
        assert put(view_of)
        return
    with pytest.raises(TypeError, match=message):
        put(view_of)


def test_of_a_view_that_does_not_show_what_it_takes_nothing_is_asked(action: Action) -> None:
    assert action.view(terms=terms)(max)  # type: ignore[type-var]  # a function without a signature


def loading(function: Any) -> Any:
    """A decorator that hands on something else than it is called with."""

    @wraps(function)
    def load(request: Any, order_id: int) -> Any:
        return function(request, f"order {order_id}")

    return load


def unseen(function: Any) -> Any:
    @wraps(function)
    def load(*given: Any, **named: Any) -> Any:
        return function(*given, **named)

    return load


def order_view(request: Any, order: str) -> HttpResponse:
    return HttpResponse(order)


def order_terms(request: Any, order: str) -> Terms:
    return Terms({"order": order})


def test_what_counts_is_the_function_that_is_called_and_not_the_wrapped_one(
    action: Action, rf: RequestFactory
) -> None:
    gated = action.view(terms=loading(order_terms))(loading(order_view))
    assert gated(rf.post("/"), order_id=1).content == b"order 1"


def test_of_a_view_that_may_be_called_in_many_ways_the_first_request_tells(
    action: Action, rf: RequestFactory
) -> None:
    gated = action.view(terms=order_terms)(unseen(view_of))

    with pytest.raises(TypeError, match=r"order_terms is called with the request and the arg") as e:
        gated(rf.post("/"), order_id=4711, item_id=2)
    assert "order_id" in str(e.value)
    assert "4711" not in str(e.value)


def test_a_type_error_of_the_sites_own_stays_as_it_is(action: Action, rf: RequestFactory) -> None:
    def failing(request: Any) -> Terms:
        return Terms({"total": 1 + request})

    with pytest.raises(TypeError, match="unsupported operand"):
        action.view(terms=failing)(view)(rf.post("/"))


def test_a_function_in_the_class_of_its_view_takes_the_view_as_well(action: Action) -> None:
    def own_terms(self: Any, request: Any, order_id: int, item_id: int) -> Terms:
        return Terms({})

    def post(self: Any, request: Any, order_id: int, item_id: int) -> HttpResponse:
        return HttpResponse("done")

    def too_few(self: Any, request: Any) -> Terms:
        return Terms({})

    assert action.view(terms=own_terms)(post)
    with pytest.raises(TypeError, match="as its view is, with"):
        action.view(terms=too_few)(post)
    with pytest.raises(TypeError, match="is called with the request"):
        action.view(terms=lambda self: Terms({}))(post)


@pytest.mark.parametrize(
    ("replay", "message"),
    [
        (lambda request: None, r"called as replay\(request, operation\)"),
        (lambda self, request: None, r"called as replay\(request, operation\)"),
        (lambda request, *, operation: None, r"called as replay\(request, operation\)"),
        ("replay", "replay= is a function"),
        (yielding, "replay= is a generator"),
        (aterms, "replay= is async, and the view is not"),
        (lambda request, operation: None, None),
        (lambda self, request, operation: None, None),
        (print, None),
    ],
    ids=range(9),
)
def test_a_replay_takes_a_request_and_an_operation(
    replay: Any, message: str | None, action: Action
) -> None:
    put = action.api(terms=terms, replay=replay)
    if message is None:
        assert put(view)
        return
    with pytest.raises(TypeError, match=message):
        put(view)


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        ("yes", "performed= is a function"),
        (True, "performed= is a function"),
        (yielding, "performed= is a generator"),
        (aterms, "performed= is called, and not awaited"),
        (lambda: True, "performed= is called with the response, which it does not take"),
        (lambda request, response: True, "performed= is called with the response, which"),
    ],
    ids=range(6),
)
def test_a_judge_of_answers_takes_one(judge: Any, message: str, action: Action) -> None:
    with pytest.raises(TypeError, match=message):
        action.view(terms=terms, performed=judge)(view)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Terms({}), print), r"the terms of run\(\) is a function"),
        ((terms, HttpResponse()), r"the body of run\(\) is a function"),
        ((aterms, print), r"the terms of run\(\) is async: await arun\(\) instead"),
        ((terms, Called()), r"the body of run\(\) is async: await arun\(\) instead"),
    ],
)
def test_run_refuses_what_it_cannot_call_or_would_not_await(
    arguments: Any, message: str, action: Action, rf: RequestFactory
) -> None:
    with pytest.raises(TypeError, match=message):
        action.run(rf.post("/"), *arguments)


async def test_run_refuses_an_event_loop(action: Action, rf: RequestFactory) -> None:
    with pytest.raises(TypeError, match=r"called in an async handler: await arun\(\) instead"):
        action.run(rf.post("/"), lambda: Terms({}), lambda operation: HttpResponse("done"))


async def test_arun_refuses_what_it_cannot_call(action: Action, rf: RequestFactory) -> None:
    arguments: Any = (Terms({}), print)
    with pytest.raises(TypeError, match=r"the terms of arun\(\) is a function"):
        await action.arun(rf.post("/"), *arguments)


@pytest.mark.parametrize(
    "scope", ["", " ", "a b", 'a"b', "a\\b", "a\n", "é", b"a", ["a"], 1, False]
)
def test_a_scope_is_one_word(scope: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="scope"):
        personal_agents(scope=scope)
    with pytest.raises((TypeError, ValueError), match="scope"):
        HasScope.of(scope)


def test_a_permission_without_a_scope_says_how_to_name_one(rf: RequestFactory) -> None:
    with pytest.raises(TypeError, match=r"HasScope\.of\('orders:write'\)"):
        HasScope().has_permission(rf.post("/"), None)  # type: ignore[arg-type]  # any request
