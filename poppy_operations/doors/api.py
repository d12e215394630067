"""The API's door: ``@api_view`` functions, handlers of classes, and plain Django views."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponseBase
from rest_framework.exceptions import ParseError, UnsupportedMediaType
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer

from poppy_operations.atomic_requests import switched_off_aliases
from poppy_operations.declarations.current import CurrentOperation
from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.declarations.outcomes import Verdict
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
    methods_of,
    reject_async,
    reject_misuse,
)
from poppy_operations.doors.http_asker import HttpAsker
from poppy_operations.doors.http_content import by_bytes, http_content
from poppy_operations.doors.http_uploads import kept_for_the_view, note_uploads
from poppy_operations.doors.placement import reject_ungated
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
from poppy_operations.gate.calls import Call
from poppy_operations.gate.comparing import RequestContent
from poppy_operations.site_responses import SiteResponses
from poppy_operations.unread_bodies import is_body_lost

F = TypeVar("F", bound=Callable[..., Any])


def api_door(
    action: DeclaredAction,
    view: F,
    *,
    terms: Callable[..., Any],
    allowed: Callable[..., Any] | None,
    replay: Callable[..., Any] | None,
    methods: Methods,
    ignore: Names,
) -> F:
    """Put an API's view function or handler behind the gate."""
    reject_misuse(action, view, "api")
    reject_async(action, view, terms=terms, allowed=allowed, replay=replay)
    reject_unfit(action, view, terms=terms, allowed=allowed, replay=replay)
    gated_methods, ignore = methods_of(methods), ignored_names(ignore)
    reject_ungated(action, view, gated_methods, "api")
    body_of = ViewBody(view)
    said_terms, said_allowed = SiteFunction(terms), site_function(allowed)
    said_replay = site_function(replay)

    def call_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
        request, before, rest = split(
            args, (Request, HttpRequest), message="A gated API view is called with a request."
        )
        if is_within(action, _django(request)):
            return None
        if not is_gated(request.method, gated_methods, holder(view, before)):
            shown = like(view, lambda operation: view(*args, **kwargs))
            as_it_is = _api_call(
                action, request, terms=nothing, body=shown, allowed=None, ignore=()
            )
            return closed_call(as_it_is, request.method, gated_methods)
        before = _holder(view, request, before)
        given: Any = {"before": before, "request": request, "rest": rest, "kwargs": kwargs}
        call = _api_call(
            action,
            request,
            terms=said_terms.called_with(**given),
            body=body_of.call(_django(request), partial(view, *args, **kwargs)),
            allowed=None if said_allowed is None else said_allowed.called_with(**given),
            ignore=ignore,
        )
        if said_replay is None:
            return call
        return replace(call, replay=said_replay.called_with(before=before, request=request))

    gated = behind_the_gate(view, call_of, answered, action=action, methods=gated_methods)
    return with_functions(gated, terms=terms, allowed=allowed)


def _django(request: Request | HttpRequest) -> HttpRequest:
    # Django REST framework documents no other way to Django's own request.
    return request._request if isinstance(request, Request) else request  # noqa: SLF001


def _holder(
    view: Callable[..., Any], request: Request | HttpRequest, before: tuple[Any, ...]
) -> tuple[Any, ...]:
    if before or not isinstance(request, Request):
        return holder(view, before)
    return (request.parser_context["view"],)


def _api_call(
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
    django_request = _django(request)
    call = Call(
        action=action,
        asker=HttpAsker(django_request, lambda: request.user),
        results=_ViewsResponses(request),
        request=django_request,
        content=partial(_api_content, request, action.name, ignore),
        is_lost=partial(is_body_lost, request),
        prepare=partial(note_uploads, django_request),
        terms=kept_for_the_view(django_request, terms),
        body=body,
        ignore=ignore,
        transactions=switched_off_aliases(django_request),
    )
    return call if allowed is None else replace(call, allowed=allowed)


def _api_content(request: Request, action: str, ignore: Sequence[str]) -> RequestContent:
    # The parsed data has a multipart form's uploads among its fields.
    return http_content(_django(request), action=action, data=_data(request), ignore=ignore)


def _data(request: Request) -> Any:
    try:
        return request.data
    except UnsupportedMediaType:
        # The view does not read the content, or it would have refused it; the bytes still count.
        return by_bytes(_bytes(request))
    except RecursionError as error:
        # Django REST framework does not catch it, and a view that reads nothing never meets it.
        message = "The content is nested too deep."
        raise ParseError(message) from error


def _bytes(request: Request) -> bytes:
    try:
        return _django(request).body
    except RequestDataTooBig as error:
        raise ParseError(str(error)) from error


class _ViewsResponses(SiteResponses):
    """The responses of a view of Django REST framework, which are finalised by the view."""

    def __init__(self, request: Request) -> None:
        self.request = request

    def final(self, result: Any) -> HttpResponseBase:
        """The response as it is sent."""
        return _rendered(self.request, result)

    def verdict(self, result: object) -> Verdict:
        """What a response says of the action (AMB-15)."""
        if isinstance(result, Response) and _shows_errors(result.data):
            return Verdict.NOTHING_HAPPENED
        return super().verdict(result)


def _shows_errors(data: object) -> bool:
    """Whether the data of an answer are a serializer's errors, or hold a serializer with errors."""
    values = [data, *data.values()] if isinstance(data, Mapping) else [data]
    return any(_serializer_has_errors(value) for value in values)


def _serializer_has_errors(value: object) -> bool:
    serializer = getattr(value, "serializer", value)  # What it returns knows it.
    if not isinstance(serializer, BaseSerializer):
        return False
    try:
        return bool(serializer.errors)
    except AssertionError:
        return False  # It was never validated, such as a serializer that only shows something.


def _rendered(request: Request, response: HttpResponseBase) -> HttpResponseBase:
    """Finalise and render a response once, now: lazy data is read in the transaction.

    What is stored is then what is sent, and if rendering fails, the action is rolled back.
    """
    view = request.parser_context["view"]
    finalize, headers = view.finalize_response, dict(view.headers)
    final = finalize(request, response, *view.args, **view.kwargs)
    view.headers = headers  # Finalising uses them up; another answer may have to be sent instead.
    render = getattr(final, "render", None)
    rendered: HttpResponseBase = final if render is None else render()

    def once(again: Request, answer: HttpResponseBase, *args: Any, **kwargs: Any) -> Any:
        # The view finalises what its handler returns, and would do so a second time.
        return answer if answer is rendered else finalize(again, answer, *args, **kwargs)

    view.finalize_response = once
    return rendered
