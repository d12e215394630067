"""The website's doors: decorated views, and ``run`` inside the views of a gated class."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from django.http import HttpRequest, HttpResponseBase

from poppy_operations.declarations.current import CurrentOperation
from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.doors.arguments import (
    Methods,
    Names,
    ignored_names,
    reject_unfit,
    with_functions,
)
from poppy_operations.doors.gating import (
    answered,
    behind_the_gate,
    in_form,
    methods_of,
    reject_async,
    reject_misuse,
)
from poppy_operations.doors.pages import Judge, PageResponses, reject_judge
from poppy_operations.doors.placement import reject_class, reject_ungated
from poppy_operations.doors.plain import (
    SiteFunction,
    ViewBody,
    closed_call,
    holder,
    is_gated,
    is_within,
    like,
    nothing,
    plain_call,
    site_function,
    split,
)
from poppy_operations.gate import order
from poppy_operations.gate.calls import Call
from poppy_operations.gate.order import Entered
from poppy_operations.gate.sync_and_async import Steps

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)

_ENTERED = "_poppy_entered"
_ALLOWED = "_poppy_allowed"
_HAS_RUN = "_poppy_has_run"


def view_door(
    action: DeclaredAction,
    view: F,
    *,
    terms: Callable[..., Any],
    allowed: Callable[..., Any] | None,
    performed: Judge | None,
    methods: Methods,
    ignore: Names,
) -> F:
    """Put a view function, or a handler of a class, behind the gate."""
    reject_misuse(action, view, "view")
    reject_judge(action, performed)
    reject_async(action, view, terms=terms, allowed=allowed)
    reject_unfit(action, view, terms=terms, allowed=allowed)
    gated_methods, ignore = methods_of(methods), ignored_names(ignore)
    reject_ungated(action, view, gated_methods, "view")
    body_of = ViewBody(view)
    said_terms, said_allowed = SiteFunction(terms), site_function(allowed)

    def call_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
        request, before, rest = split(args)
        if is_within(action, request):
            return None
        before = holder(view, before)
        if not is_gated(request.method, gated_methods, before):
            shown = like(view, lambda operation: view(*args, **kwargs))
            as_it_is = plain_call(
                action, request, terms=nothing, body=shown, allowed=None, ignore=()
            )
            return closed_call(as_it_is, request.method, gated_methods)
        given: Any = {"before": before, "request": request, "rest": rest, "kwargs": kwargs}
        return plain_call(
            action,
            request,
            terms=said_terms.called_with(**given),
            body=body_of.call(request, partial(view, *args, **kwargs)),
            allowed=None if said_allowed is None else said_allowed.called_with(**given),
            ignore=ignore,
            results=PageResponses(action, performed),
        )

    action.has_website_door = True
    gated = behind_the_gate(view, call_of, answered, action=action, methods=gated_methods)
    return with_functions(gated, terms=terms, allowed=allowed)


def gated_door(
    action: DeclaredAction,
    target: C,
    *,
    allowed: Callable[..., Any] | None,
    methods: Methods,
    ignore: Names,
) -> C:
    """Let a class's handlers look, before ``run``, at who asks, ``allowed`` and checks 1 and 2."""
    gated_methods, ignore = methods_of(methods), ignored_names(ignore)
    names = [name for name in map(str.lower, sorted(gated_methods)) if hasattr(target, name)]
    reject_class(action, target, names if inspect.isclass(target) else [])
    for name in names:
        handler = _entering(action, getattr(target, name), allowed, gated_methods, ignore)
        setattr(target, name, handler)
    action.has_website_door = True
    return target


def _entering(
    action: DeclaredAction,
    handler: Callable[..., Any],
    allowed: Callable[..., Any] | None,
    methods: frozenset[str],
    ignore: Sequence[str],
) -> Callable[..., Any]:
    reject_async(action, handler, allowed=allowed)
    reject_unfit(action, handler, allowed=allowed)
    said_allowed = site_function(allowed)

    def call_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
        request, before, rest = split(args)
        if _is_entered(action, request, allowed):
            return None  # One gated handler has called another, as FormView.put does.
        setattr(request, _ALLOWED, allowed)
        given: Any = {"before": before, "request": request, "rest": rest, "kwargs": kwargs}
        return plain_call(
            action,
            request,
            terms=nothing,
            body=like(handler, lambda operation: handler(*args, **kwargs)),
            allowed=None if said_allowed is None else said_allowed.called_with(**given),
            ignore=ignore,
        )

    gated = behind_the_gate(handler, call_of, _enter, action=action, methods=methods)
    return with_functions(gated, allowed=allowed)


def _is_entered(
    action: DeclaredAction, request: HttpRequest, allowed: Callable[..., Any] | None
) -> bool:
    """Whether the gate of the handler that calls this one has asked all that this one would ask.

    A handler of the same action with another ``allowed`` has its own asked. A handler of another
    action comes no further than ``run``.
    """
    entered: Entered | None = getattr(request, _ENTERED, None)
    if entered is None:
        return False
    return entered.action is not action or getattr(request, _ALLOWED) is allowed


def _enter(call: Call) -> Steps[HttpResponseBase]:
    answered_by_gate = yield from order.enter(call, partial(setattr, call.request, _ENTERED))
    return (yield from in_form(answered_by_gate, call))


def run_door(
    action: DeclaredAction,
    request: HttpRequest,
    terms: Callable[[], Any],
    body: Callable[[CurrentOperation], Any],
    ignore: Names,
    performed: Judge | None,
) -> Steps[HttpResponseBase]:
    """Take the rest of a gated handler's request through the gate."""
    reject_judge(action, performed)
    entered: Entered | None = getattr(request, _ENTERED, None)
    if entered is None or entered.action is not action:
        message = (
            f"{action.name}: run() is called in a handler of a class that @gated of the same "
            "action decorates."
        )
        raise RuntimeError(message)

    if hasattr(request, _HAS_RUN):
        message = (
            f"{action.name}: run() is called once in a request. One request performs one action: "
            "put both into the terms of one."
        )
        raise RuntimeError(message)

    def current_body(operation: CurrentOperation) -> Any:
        request.operation = operation  # type: ignore[attr-defined]  # what views are promised
        return body(operation)

    call = plain_call(
        action,
        request,
        terms=terms,
        body=like(body, current_body),
        allowed=None,
        ignore=ignored_names(ignore),
        results=PageResponses(action, performed),
    )
    call = replace(call, now=entered.now)
    setattr(request, _HAS_RUN, True)
    try:
        answered_by_gate = yield from order.go_on(entered, call)
    except BaseException:
        delattr(request, _HAS_RUN)  # It has no answer, and may be called again.
        raise
    return (yield from in_form(answered_by_gate, call))
