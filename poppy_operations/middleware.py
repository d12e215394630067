"""The middleware: says who asks, and keeps Django's transactions off agents' gated requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from poppy_operations import atomic_requests, gated_handlers
from poppy_operations.browser import logins, mark_cookies, marks, renewing
from poppy_operations.browser.facts import RequestFacts as RequestFacts
from poppy_operations.sessions.reports import hide_from_reports, hide_our_frames

GetResponse = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]


class PersonalAgentMiddleware:
    """Stands after Django's session and authentication middleware.

    It reads nothing for ordinary visitors: the user is watched only if a join gave the login, and
    the Django session is read only for a gated view under ATOMIC_REQUESTS, and only if the browser
    sent its cookie. Visitors get no cookie of ours either.
    """

    sync_capable = True
    async_capable = True

    process_view: Callable[..., Any]

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)
            # A synchronous one would cost every request of the site a change of thread.
            self.process_view = self._aprocess_view
        else:
            self.process_view = self._process_view

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        """Answer the request."""
        _begin(request)
        if self.is_async:
            return self._acall(request)
        response = cast("HttpResponseBase", self.get_response(request))
        if _is_unfinished(request, response):
            _finish(request, response)
        return response

    async def _acall(self, request: HttpRequest) -> HttpResponseBase:
        response = await cast("Awaitable[HttpResponseBase]", self.get_response(request))
        if _is_unfinished(request, response):
            await sync_to_async(_finish)(request, response)
        return response

    def _process_view(
        self, request: HttpRequest, callback: Callable[..., Any], *_view_arguments: Any
    ) -> None:
        aliases = _gated_aliases(request, callback)
        off = bool(aliases) and (
            atomic_requests.has_agent_header(request) or marks.is_marked(request)
        )
        if atomic_requests.switch(callback, off=off):
            atomic_requests.remember(request, aliases)

    async def _aprocess_view(
        self, request: HttpRequest, callback: Callable[..., Any], *_view_arguments: Any
    ) -> None:
        aliases = _gated_aliases(request, callback)
        off = bool(aliases) and (
            atomic_requests.has_agent_header(request) or await marks.ais_marked(request)
        )
        if atomic_requests.switch(callback, off=off):
            await sync_to_async(atomic_requests.remember)(request, aliases)


def _gated_aliases(request: HttpRequest, callback: Callable[..., Any]) -> tuple[str, ...]:
    aliases = atomic_requests.atomic_aliases(callback)
    return aliases if aliases and gated_handlers.gated_handler(callback, request.method) else ()


def _begin(request: HttpRequest) -> None:
    request.poppy = RequestFacts(request)  # type: ignore[attr-defined]  # our own addition
    hide_from_reports(request)
    if mark_cookies.is_in(request):
        hide_our_frames(request)
    marks.keep_mark(request)
    logins.watch_user(request)


def _is_unfinished(request: HttpRequest, response: HttpResponseBase) -> bool:
    return (
        atomic_requests.in_outer_block(request)
        or logins.has_changed(request)
        or renewing.is_due(request, response)
    )


def _finish(request: HttpRequest, response: HttpResponseBase) -> None:
    atomic_requests.take_back_rollback(request)
    if logins.has_changed(request):
        logins.settle_session(request, response.status_code)
    renewing.renew_mark(request, response)
