"""The calls of plain Django requests, and what their views are handed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponseBase

from poppy_operations.atomic_requests import switched_off_aliases
from poppy_operations.declarations.callables import is_async
from poppy_operations.declarations.current import CurrentOperation
from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.doors.arguments import called, wants_self
from poppy_operations.doors.http_asker import HttpAsker
from poppy_operations.doors.http_content import http_content, parsed_body
from poppy_operations.doors.http_uploads import note_uploads
from poppy_operations.gate.calls import Call
from poppy_operations.gate.comparing import RequestContent
from poppy_operations.site_responses import SiteResponses

RUNNING = "_poppy_running"


def plain_call(
    action: DeclaredAction,
    request: HttpRequest,
    *,
    terms: Callable[[], Any],
    body: Callable[[CurrentOperation], Any],
    allowed: Callable[[], Any] | None,
    ignore: Sequence[str],
    results: SiteResponses | None = None,
) -> Call:
    """The call of a plain Django request."""
    call = Call(
        action=action,
        asker=HttpAsker(request, lambda: getattr(request, "user", None)),
        results=results or SiteResponses(),
        request=request,
        content=partial(_content, request, action.name, ignore),
        prepare=partial(note_uploads, request),
        terms=terms,
        body=body,
        ignore=ignore,
        transactions=switched_off_aliases(request),
    )
    return call if allowed is None else replace(call, allowed=allowed)


def _content(request: HttpRequest, action: str, ignore: Sequence[str]) -> RequestContent:
    return http_content(
        request, action=action, data=parsed_body(request), files=request.FILES, ignore=ignore
    )


# A view that shows itself on GET, and acts on everything else, acts on these as well.
CLOSED_METHODS = frozenset({"HEAD", "OPTIONS", "TRACE"})


def is_gated(method: str | None, methods: frozenset[str], held_by: tuple[Any, ...]) -> bool:
    """Whether a request goes through the gate.

    A handler of a class always does: another one of its class may call it, by whatever method.
    """
    return bool(held_by) or method in methods


def closed_call(call: Call, method: str | None, methods: frozenset[str]) -> Call | None:
    """The call of a method that is open to people alone; ``None`` if it is open to all."""
    if method not in CLOSED_METHODS:
        return None
    return replace(call, open_methods=sorted({"GET", *methods}))


def nothing() -> None:
    """The terms of a request whose terms nobody asks for."""


def split(
    args: tuple[Any, ...],
    kinds: type | tuple[type, ...] = HttpRequest,
    *,
    message: str = "A gated Django view is called with an HttpRequest; a DRF view takes "
    "@action.api.",
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """The request of a view's arguments, what stands before it (``self``) and what after."""
    for position, argument in enumerate(args[:2]):
        if isinstance(argument, kinds):
            return argument, args[:position], args[position + 1 :]
    raise TypeError(message)


def site_call(
    function: Callable[..., Any],
    *,
    before: tuple[Any, ...],
    request: Any,
    rest: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Call ``terms`` or ``allowed``; one written in the class itself gets ``self`` first."""
    return called(function, *own(function, before), request, *rest, **kwargs)


def own(function: Callable[..., Any], before: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a function of the site takes before the request: ``self`` where it names it."""
    return before if wants_self(function) else ()


def holder(view: Callable[..., Any], before: tuple[Any, ...]) -> tuple[Any, ...]:
    """The object whose handler a view is, also where ``method_decorator`` has bound it before."""
    if before:
        return before
    bound_to = getattr(getattr(view, "func", view), "__self__", None)
    return () if bound_to is None else (bound_to,)


def like(function: Callable[..., Any], call: Callable[..., Any]) -> Callable[..., Any]:
    """``call``, as a coroutine function where ``function`` is one."""
    if not is_async(function):
        return call

    async def acall(*args: Any) -> Any:
        return await call(*args)

    return acall


def is_within(action: DeclaredAction, request: HttpRequest) -> bool:
    """Whether this very request is running the approved action: one handler has called another.

    What needed no approval lends none: whatever it calls is looked at anew. Raises ``RuntimeError``
    where the request is running another action, whose approval does not cover this one.
    """
    outer: CurrentOperation | None = getattr(request, RUNNING, None)
    if outer is None or outer.operation_id is None:
        return False
    if outer.action == action.name:
        return True
    message = (
        f"{action.name} was called inside {outer.action}, whose approval does not cover it. "
        "One request performs one action: put both into the terms of one."
    )
    raise RuntimeError(message)


def running_view(
    view: Callable[..., Any], request: HttpRequest, call: Callable[[], Any]
) -> Callable[[CurrentOperation], Any]:
    """The body of a call: the site's view, which finds the operation at its request."""
    return running(view, request, call, partial(_response, view))


def running(
    function: Callable[..., Any],
    request: HttpRequest,
    call: Callable[[], Any],
    returned: Callable[[Any], Any] = lambda result: result,
) -> Callable[[CurrentOperation], Any]:
    """The body of a call: a function of the site, and what is made of what it returns."""
    if is_async(function):

        async def abody(operation: CurrentOperation) -> Any:
            with _run_for(request, operation):
                return returned(await call())

        return abody

    def body(operation: CurrentOperation) -> Any:
        with _run_for(request, operation):
            return returned(call())

    return body


@contextmanager
def _run_for(request: Any, operation: CurrentOperation) -> Iterator[None]:
    outer = getattr(request, RUNNING, None)
    request.operation = operation  # what views are promised
    setattr(request, RUNNING, operation)
    try:
        yield
    finally:
        setattr(request, RUNNING, outer)


def _response(view: Callable[..., Any], response: Any) -> HttpResponseBase:
    # Said here, as part of the run: nobody may take what was done for a failure.
    if isinstance(response, HttpResponseBase):
        return response
    name = getattr(view, "__qualname__", repr(view))
    message = f"The view {name} returned {type(response).__name__}, not an HttpResponse."
    raise TypeError(message)
