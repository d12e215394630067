"""The request that stands for a tool call: its headers for Django's code and for the hooks."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest

from poppy_operations.browser.facts import RequestFacts
from poppy_operations.company import WITHOUT_HTTP
from poppy_operations.declarations.tool_calls import REQUEST, sdk_call_of


def request_of(context: Any) -> HttpRequest:
    """The request of the very call that a context of the SDK belongs to, made once for it.

    By HTTP it has the headers of the request that brought this call, doubled ones joined as in any
    request of Django's. Its body was read by the SDK, and is not in it. Over stdio it is empty.
    """
    record = sdk_call_of(context)
    request: HttpRequest | None = getattr(record, REQUEST, None)
    if request is None:
        request = _request(context, record)
        setattr(record, REQUEST, request)
    return request


def _request(context: Any, record: Any) -> HttpRequest:
    request: Any
    if record.request is None:
        request = HttpRequest()
        request.method = "POST"
        setattr(request, WITHOUT_HTTP, context)
    else:
        request = ASGIRequest(record.request.scope, BytesIO())
    request.poppy = RequestFacts(request)
    sign_in(request, AnonymousUser())
    made: HttpRequest = request
    return made


def sign_in(request: Any, user: Any) -> None:
    """Let the site's code find a user at a request."""

    async def auser() -> Any:
        return user

    request.user, request.auser = user, auser
