"""The way from a gated view through the gate and back, the same for every kind of view."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponseBase

from poppy_operations.browser.atomic import GATE
from poppy_operations.declarations import DeclaredAction
from poppy_operations.gate.answers import Answer, SiteAnswer
from poppy_operations.gate.calls import Call
from poppy_operations.gate.callers import is_the_websites
from poppy_operations.gate.passage import passage
from poppy_operations.gate.steps import Steps, database
from poppy_operations.responses import respond

GATED_METHODS = ("POST", "PUT", "PATCH", "DELETE")
ACTION = "poppy_action"


def answered(call: Call) -> Steps[HttpResponseBase]:
    """Take a call through the gate, and put its answer into the interface's form."""
    answer = yield from passage(call)
    return (yield from in_form(answer, call.request))


def in_form(answer: Answer, request: HttpRequest) -> Steps[HttpResponseBase]:
    """Put an answer into the form of the interface that the request came through."""
    if isinstance(answer, SiteAnswer):
        return answer.response
    return (yield from database(partial(_form, answer, request)))


def _form(answer: Answer, request: HttpRequest) -> HttpResponseBase:
    return respond(answer, request, on_website=is_the_websites(request))


def methods_of(methods: Iterable[str]) -> frozenset[str]:
    """The gated methods, in upper case."""
    if isinstance(methods, str):
        message = "methods= is a list of HTTP methods."
        raise TypeError(message)
    return frozenset(method.upper() for method in methods)


def mark(gated: Callable[..., Any], action: DeclaredAction, methods: frozenset[str]) -> None:
    """Mark a gated callable, by which the middleware and the checks know it."""
    setattr(gated, GATE, methods)
    setattr(gated, ACTION, action)


def refuse_misuse(action: DeclaredAction, view: Any, how: str) -> None:
    """Refuse, at import, what would put the gate outside the site's own permissions."""
    name = getattr(view, "__name__", repr(view))
    if not callable(view) or inspect.isclass(view):
        message = f"@{how} of {action.name} goes on a view function or on the handlers of a class."
        raise TypeError(message)
    if name == "dispatch":
        message = (
            f"@{how} of {action.name} goes on the handlers of a class (post, put, …), not on "
            "dispatch: the site's own permissions are asked inside dispatch."
        )
        raise TypeError(message)
    if hasattr(view, "login_url"):
        message = (
            f"@{how} of {action.name} goes below login_required and permission_required on "
            f"{name}: the site's own guards are asked first."
        )
        raise TypeError(message)


def refuse_async(action: DeclaredAction, is_async: bool, **callables: Any) -> None:  # noqa: FBT001
    """Refuse coroutine functions beside a sync view, which nobody would await."""
    for name, function in callables.items():
        if not is_async and inspect.iscoroutinefunction(function):
            message = f"{action.name}: {name}= is async, and the view is not."
            raise TypeError(message)
