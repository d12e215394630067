"""The website's doors: decorated views, and ``run`` inside the views of a gated class."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, wraps
from typing import Any, TypeVar

from django.http import HttpRequest, HttpResponseBase

from poppy_operations.declarations import CurrentOperation, DeclaredAction
from poppy_operations.gate.answers import Answer
from poppy_operations.gate.calls import Call
from poppy_operations.gate.content import RequestContent, parsed_body
from poppy_operations.gate.entrance import Entered, entrance
from poppy_operations.gate.steps import Steps, arun, run
from poppy_operations.views.door import (
    answered,
    in_form,
    mark,
    methods_of,
    refuse_async,
    refuse_misuse,
)

logger = logging.getLogger("poppy_operations")
F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)

_ENTERED = "_poppy_entered"
HANDLERS = ("post", "put", "patch", "delete")


def view_door(
    action: DeclaredAction,
    view: F,
    *,
    terms: Callable[..., Any],
    allowed: Callable[..., Any] | None,
    methods: Sequence[str],
    ignore: Sequence[str],
) -> F:
    """Put a view function, or a handler of a class, behind the gate."""
    refuse_misuse(action, view, "view")
    is_async = inspect.iscoroutinefunction(view)
    refuse_async(action, is_async, terms=terms, allowed=allowed)
    gated_methods = methods_of(methods)

    def call_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
        request, before, rest = _split(args)
        if request.method not in gated_methods:
            return None
        bound = partial(_site_call, before=before, request=request, rest=rest, kwargs=kwargs)

        def body(operation: CurrentOperation) -> Any:
            request.operation = operation  # type: ignore[attr-defined]  # what views are promised
            return view(*args, **kwargs)

        return website_call(
            action,
            request,
            terms=_like(terms, partial(bound, terms)),
            body=_like(view, body),
            allowed=None if allowed is None else _like(allowed, partial(bound, allowed)),
            ignore=ignore,
        )

    if is_async:

        @wraps(view)
        async def agated(*args: Any, **kwargs: Any) -> Any:
            call = call_of(args, kwargs)
            return await (view(*args, **kwargs) if call is None else arun(answered(call)))

        gated: Any = agated
    else:

        @wraps(view)
        def sgated(*args: Any, **kwargs: Any) -> Any:
            call = call_of(args, kwargs)
            return view(*args, **kwargs) if call is None else run(answered(call))

        gated = sgated
    mark(gated, action, gated_methods)
    action.has_website_door = True
    result: F = gated
    return result


def website_call(
    action: DeclaredAction,
    request: HttpRequest,
    *,
    terms: Callable[[], Any],
    body: Callable[[CurrentOperation], Any],
    allowed: Callable[[], Any] | None,
    ignore: Sequence[str],
) -> Call:
    """The call of a plain Django request."""
    call = Call(
        action=action,
        request=request,
        content=partial(_content, request, action.name, ignore),
        terms=terms,
        body=body,
        user=lambda: getattr(request, "user", None),
        render=rendered,
        ignore=ignore,
    )
    return call if allowed is None else replace(call, allowed=allowed)


def _content(request: HttpRequest, action: str, ignore: Sequence[str]) -> RequestContent:
    return RequestContent.of(
        request, action=action, data=parsed_body(request), files=request.FILES, ignore=ignore
    )


def rendered(response: HttpResponseBase) -> HttpResponseBase:
    """Render a response that Django would render later, so that what is stored is what is sent."""
    render = getattr(response, "render", None)
    return response if render is None or getattr(response, "is_rendered", True) else render()


def _split(args: tuple[Any, ...]) -> tuple[HttpRequest, tuple[Any, ...], tuple[Any, ...]]:
    """The request of a view's arguments, what stands before it (``self``) and what after."""
    if args and isinstance(args[0], HttpRequest):
        return args[0], (), args[1:]
    if len(args) > 1 and isinstance(args[1], HttpRequest):
        return args[1], args[:1], args[2:]
    message = "A gated Django view is called with an HttpRequest; a DRF view takes @action.api."
    raise TypeError(message)


def _site_call(
    function: Callable[..., Any],
    *,
    before: tuple[Any, ...],
    request: HttpRequest,
    rest: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Call ``terms`` or ``allowed``; one written in the class itself gets ``self`` first."""
    first = next(iter(inspect.signature(function).parameters), None)
    leading = before if first == "self" else ()
    return function(*leading, request, *rest, **kwargs)


def _like(function: Callable[..., Any], call: Callable[..., Any]) -> Callable[..., Any]:
    """``call``, as a coroutine function where ``function`` is one."""
    if not inspect.iscoroutinefunction(function):
        return call

    async def acall(*args: Any) -> Any:
        return await call(*args)

    return acall


def gated_door(
    action: DeclaredAction,
    target: C,
    *,
    allowed: Callable[..., Any] | None,
    methods: Sequence[str],
    ignore: Sequence[str],
) -> C:
    """Put the handlers of a class before ``run``: who asks, ``allowed``, checks 1 and 2."""
    gated_methods = methods_of(methods)
    names = [method.lower() for method in sorted(gated_methods) if hasattr(target, method.lower())]
    if not inspect.isclass(target) or not names:
        message = f"@gated of {action.name} goes on a class with handlers such as post."
        raise TypeError(message)
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
    is_async = inspect.iscoroutinefunction(handler)
    refuse_async(action, is_async, allowed=allowed)

    def call_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
        request, before, rest = _split(args)
        if hasattr(request, _ENTERED):
            return None  # One gated handler calls another, as FormView.put does.
        bound = partial(_site_call, before=before, request=request, rest=rest, kwargs=kwargs)
        return website_call(
            action,
            request,
            terms=lambda: None,
            body=_like(handler, lambda operation: handler(*args, **kwargs)),
            allowed=None if allowed is None else _like(allowed, partial(bound, allowed)),
            ignore=ignore,
        )

    if is_async:

        @wraps(handler)
        async def aentering(*args: Any, **kwargs: Any) -> Any:
            call = call_of(args, kwargs)
            return await (handler(*args, **kwargs) if call is None else arun(_enter(call)))

        mark(aentering, action, methods)
        return aentering

    @wraps(handler)
    def entering(*args: Any, **kwargs: Any) -> Any:
        call = call_of(args, kwargs)
        return handler(*args, **kwargs) if call is None else run(_enter(call))

    mark(entering, action, methods)
    return entering


def _enter(call: Call) -> Steps[HttpResponseBase]:
    return (yield from _in_form_of(call, entrance(call, partial(setattr, call.request, _ENTERED))))


def _in_form_of(call: Call, steps: Steps[Answer]) -> Steps[HttpResponseBase]:
    answer = yield from steps
    return (yield from in_form(answer, call.request))


def run_door(
    action: DeclaredAction,
    request: HttpRequest,
    terms: Callable[[], Any],
    body: Callable[[CurrentOperation], Any],
    ignore: Sequence[str],
) -> Steps[HttpResponseBase]:
    """Take the rest of a gated handler's request through the gate."""
    entered: Entered | None = getattr(request, _ENTERED, None)
    if entered is None or entered.action is not action:
        message = (
            f"{action.name}: run() is called in a handler of a class that @gated of the same "
            "action decorates."
        )
        raise RuntimeError(message)

    def current_body(operation: CurrentOperation) -> Any:
        request.operation = operation  # type: ignore[attr-defined]  # what views are promised
        return body(operation)

    call = website_call(
        action,
        request,
        terms=terms,
        body=_like(body, current_body),
        allowed=None,
        ignore=ignore,
    )
    return (yield from _in_form_of(call, entered.go_on(replace(call, now=entered.now))))
