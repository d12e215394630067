"""The calls of plain Django requests."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponseBase

from poppy_operations.declarations import CurrentOperation, DeclaredAction
from poppy_operations.gate.calls import Call
from poppy_operations.gate.content import RequestContent, parsed_body


def plain_call(
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


def split(args: tuple[Any, ...]) -> tuple[HttpRequest, tuple[Any, ...], tuple[Any, ...]]:
    """The request of a view's arguments, what stands before it (``self``) and what after."""
    if args and isinstance(args[0], HttpRequest):
        return args[0], (), args[1:]
    if len(args) > 1 and isinstance(args[1], HttpRequest):
        return args[1], args[:1], args[2:]
    message = "A gated Django view is called with an HttpRequest; a DRF view takes @action.api."
    raise TypeError(message)


def site_call(
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


def like(function: Callable[..., Any], call: Callable[..., Any]) -> Callable[..., Any]:
    """``call``, as a coroutine function where ``function`` is one."""
    if not inspect.iscoroutinefunction(function):
        return call

    async def acall(*args: Any) -> Any:
        return await call(*args)

    return acall
