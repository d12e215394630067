"""The demo's content security policy: everything from here, nothing inline."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
Answer = Callable[[HttpRequest], HttpResponseBase]
AnswerLater = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


def _with_policy(response: HttpResponseBase) -> HttpResponseBase:
    response.headers.setdefault("Content-Security-Policy", POLICY)
    return response


@sync_and_async_middleware
def content_security_policy(get_response: Answer | AnswerLater) -> Answer | AnswerLater:
    """Send the policy with every answer that brings none of its own."""
    if iscoroutinefunction(get_response):
        later = cast("AnswerLater", get_response)

        async def answer_later(request: HttpRequest) -> HttpResponseBase:
            return _with_policy(await later(request))

        return answer_later
    at_once = cast("Answer", get_response)

    def answer(request: HttpRequest) -> HttpResponseBase:
        return _with_policy(at_once(request))

    return answer
