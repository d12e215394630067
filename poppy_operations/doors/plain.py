"""The calls of plain Django requests, and what their views are handed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

from django.http import HttpRequest, HttpResponseBase

from poppy_operations.atomic_requests import switched_off_aliases
from poppy_operations.declarations.callables import is_async
from poppy_operations.declarations.current import CurrentOperation
from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.doors.arguments import called, wants_self
from poppy_operations.doors.http_asker import HttpAsker
from poppy_operations.doors.http_content import http_content, parsed_body
from poppy_operations.doors.http_uploads import kept_for_the_view, note_uploads
from poppy_operations.gate.calls import Call
from poppy_operations.gate.comparing import RequestContent
from poppy_operations.site_responses import SiteResponses
from poppy_operations.unread_bodies import is_body_lost, is_form_lost

WITHIN = "_poppy_within"
NO_ARGUMENTS: Mapping[str, Any] = MappingProxyType({})


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
        content=partial(_plain_content, request, action.name, ignore),
        is_lost=lambda: is_body_lost(request) or is_form_lost(request),
        prepare=partial(note_uploads, request),
        terms=kept_for_the_view(request, terms),
        body=body,
        ignore=ignore,
        transactions=switched_off_aliases(request),
    )
    return call if allowed is None else replace(call, allowed=allowed)


def _plain_content(request: HttpRequest, action: str, ignore: Sequence[str]) -> RequestContent:
    return http_content(
        request, action=action, data=parsed_body(request), files=request.FILES, ignore=ignore
    )


# A view that shows itself on GET, and acts on everything else, acts on these as well.
CLOSED_METHODS = frozenset({"HEAD", "OPTIONS", "TRACE"})


def is_gated(method: str | None, methods: frozenset[str], held_by: tuple[Any, ...]) -> bool:
    """Whether a request goes through the gate.

    A handler of a class always does: another handler may call it, whatever the method.
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


class SiteFunction:
    """``terms``, ``allowed`` or ``replay``, looked at once: what requests say changes nothing."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._is_async = is_async(function)
        self._wants_self = wants_self(function)

    def called_with(
        self,
        *,
        before: tuple[Any, ...],
        request: Any,
        rest: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] = NO_ARGUMENTS,
    ) -> Callable[..., Any]:
        """What calls it; one that is written in the class itself gets ``self`` first."""
        own = before if self._wants_self else ()
        call = partial(called, self._function, *own, request, *rest, **kwargs)
        return _awaiting(call) if self._is_async else call


def site_function(function: Callable[..., Any] | None) -> SiteFunction | None:
    """A function that a door may go without."""
    return None if function is None else SiteFunction(function)


def holder(view: Callable[..., Any], before: tuple[Any, ...]) -> tuple[Any, ...]:
    """The object whose handler a view is, even if ``method_decorator`` has bound it before."""
    if before:
        return before
    bound_to = getattr(getattr(view, "func", view), "__self__", None)
    return () if bound_to is None else (bound_to,)


def like(function: Callable[..., Any], call: Callable[..., Any]) -> Callable[..., Any]:
    """``call``, as a coroutine function if ``function`` is one."""
    return _awaiting(call) if is_async(function) else call


def _awaiting(call: Callable[..., Any]) -> Callable[..., Any]:
    async def acall(*args: Any) -> Any:
        return await call(*args)

    return acall


def is_within(action: DeclaredAction, request: HttpRequest) -> bool:
    """Whether this very request performs the approved action: one handler has called another.

    What needed no approval lends none: whatever it calls is looked at anew. Raises ``RuntimeError``
    if the request performs another action, whose approval does not cover this one.
    """
    outer: CurrentOperation | None = getattr(request, WITHIN, None)
    if outer is None or outer.operation_id is None:
        return False
    if outer.action == action.name:
        return True
    message = (
        f"{action.name} was called inside {outer.action}, whose approval does not cover it. "
        "One request performs one action: put both into the terms of one."
    )
    raise RuntimeError(message)


class SiteBody:
    """A function of the site as the body of calls; it finds the operation at its request."""

    def __init__(
        self, function: Callable[..., Any], returned: Callable[[Any], Any] = lambda result: result
    ) -> None:
        self._body = self._aperform if is_async(function) else self._perform
        self._returned = returned

    def call(
        self, request: HttpRequest, call: Callable[[], Any]
    ) -> Callable[[CurrentOperation], Any]:
        """The body of one call: ``call`` calls the function."""
        return partial(self._body, request, call)

    def _perform(
        self, request: HttpRequest, call: Callable[[], Any], operation: CurrentOperation
    ) -> Any:
        with _Performing(request, operation):
            return self._returned(call())

    async def _aperform(
        self, request: HttpRequest, call: Callable[[], Any], operation: CurrentOperation
    ) -> Any:
        with _Performing(request, operation):
            return self._returned(await call())


class ViewBody(SiteBody):
    """The site's view as the body of calls: it returns a response."""

    def __init__(self, view: Callable[..., Any]) -> None:
        super().__init__(view, partial(_view_response, view))


class _Performing:
    """The time in which the site's code has an operation."""

    def __init__(self, request: Any, operation: CurrentOperation) -> None:
        self._request, self._operation = request, operation

    def __enter__(self) -> None:
        self._outer = getattr(self._request, WITHIN, None)
        self._request.operation = self._operation  # what views are promised
        setattr(self._request, WITHIN, self._operation)

    def __exit__(self, *_raised: object) -> None:
        setattr(self._request, WITHIN, self._outer)


def _view_response(view: Callable[..., Any], response: Any) -> HttpResponseBase:
    # Said here, as part of the performance: nobody may take what was done for a failure.
    if isinstance(response, HttpResponseBase):
        return response
    name = getattr(view, "__qualname__", repr(view))
    message = f"The view {name} returned {type(response).__name__}, not an HttpResponse."
    raise TypeError(message)
