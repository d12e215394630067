"""The API's door: ``@api_view`` functions, handlers of classes, and plain Django views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from django.http import HttpRequest, HttpResponseBase
from rest_framework.request import Request

from poppy_operations.declarations import CurrentOperation, DeclaredAction
from poppy_operations.doors.gated import (
    answered,
    behind_the_gate,
    methods_of,
    refuse_async,
    refuse_misuse,
)
from poppy_operations.doors.plain import like, plain_call, site_call
from poppy_operations.gate.calls import Call
from poppy_operations.gate.content import RequestContent

F = TypeVar("F", bound=Callable[..., Any])


def api_door(
    action: DeclaredAction,
    view: F,
    *,
    terms: Callable[..., Any],
    allowed: Callable[..., Any] | None,
    replay: Callable[..., Any] | None,
    methods: Sequence[str],
    ignore: Sequence[str],
) -> F:
    """Put an API's view function or handler behind the gate."""
    refuse_misuse(action, view, "api")
    if hasattr(view, "cls"):
        message = f"@api of {action.name} goes below @api_view: authentication is asked first."
        raise TypeError(message)
    refuse_async(action, view, terms=terms, allowed=allowed, replay=replay)
    gated_methods = methods_of(methods)

    def call_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
        request, before, rest = _split(args)
        if request.method not in gated_methods:
            return None
        bound = partial(site_call, before=before, request=request, rest=rest, kwargs=kwargs)

        def body(operation: CurrentOperation) -> Any:
            request.operation = operation
            return view(*args, **kwargs)

        call = _call(
            action,
            request,
            terms=like(terms, partial(bound, terms)),
            body=like(view, body),
            allowed=None if allowed is None else like(allowed, partial(bound, allowed)),
            ignore=ignore,
        )
        return call if replay is None else replace(call, replay=partial(replay, request))

    return behind_the_gate(view, call_of, answered, action=action, methods=gated_methods)


def _split(args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Find the request of a view's arguments, what stands before it (``self``) and after."""
    for position, argument in enumerate(args[:2]):
        if isinstance(argument, Request | HttpRequest):
            return argument, args[:position], args[position + 1 :]
    message = "A gated API view is called with a request."
    raise TypeError(message)


def _call(
    action: DeclaredAction,
    request: Request | HttpRequest,
    *,
    terms: Callable[[], Any],
    body: Callable[[CurrentOperation], Any],
    allowed: Callable[[], Any] | None,
    ignore: Sequence[str],
) -> Call:
    if not isinstance(request, Request):
        return plain_call(action, request, terms=terms, body=body, allowed=allowed, ignore=ignore)
    call = Call(
        action=action,
        request=request._request,  # noqa: SLF001  the only way to Django's own request
        content=partial(_content, request, action.name, ignore),
        terms=terms,
        body=body,
        user=lambda: request.user,
        render=partial(_rendered, request),
        ignore=ignore,
    )
    return call if allowed is None else replace(call, allowed=allowed)


def _content(request: Request, action: str, ignore: Sequence[str]) -> RequestContent:
    # The parsed data has a multipart form's uploads among its fields.
    return RequestContent.of(
        request._request,  # noqa: SLF001  as above
        action=action,
        data=request.data,
        ignore=ignore,
    )


def _rendered(request: Request, response: HttpResponseBase) -> HttpResponseBase:
    """Finalise and render a response once, now: lazy data is read in the transaction.

    What is stored is then what is sent, and a rendering error rolls the action back.
    """
    view = request.parser_context["view"]
    final = view.finalize_response(request, response, *view.args, **view.kwargs)
    # The view finalises what its handler returns, and would do it a second time.
    view.finalize_response = lambda _request, response, *_args, **_kwargs: response
    render = getattr(final, "render", None)
    rendered: HttpResponseBase = final if render is None else render()
    return rendered
