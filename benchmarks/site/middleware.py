"""A middleware that does nothing: what ours is compared with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest


class NothingMiddleware:
    """Passes every request on, sync or async."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        """Answer the request."""
        return self._acall(request) if self.is_async else self.get_response(request)

    async def _acall(self, request: HttpRequest) -> Any:
        return await self.get_response(request)
