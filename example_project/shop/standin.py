"""Stands in for the app's doors while they are built: everybody is an ordinary visitor."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from django.http import HttpResponse, HttpResponseBase

from poppy_operations.declarations import (
    CurrentOperation,
    DeclaredAction,
    NotPerformed,
    Terms,
)

Handler = TypeVar("Handler", bound=Callable[..., HttpResponseBase])
TermsFor = Callable[..., Terms | HttpResponseBase]


class Action(DeclaredAction):
    """An action whose doors let everybody through."""

    def view(self, *, terms: TermsFor) -> Callable[[Handler], Handler]:
        """Wrap a Django view."""

        def wrap(handler: Handler) -> Handler:
            @wraps(handler)
            def through(request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
                return self._through(
                    terms, request, lambda: handler(request, *args, **kwargs), kwargs
                )

            return cast(Handler, through)

        return wrap

    def api(self, *, terms: TermsFor) -> Callable[[Handler], Handler]:
        """Wrap a handler of a DRF view."""

        def wrap(handler: Handler) -> Handler:
            @wraps(handler)
            def through(view: Any, request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
                return self._through(
                    terms, request, lambda: handler(view, request, *args, **kwargs), kwargs
                )

            return cast(Handler, through)

        return wrap

    def _through(
        self,
        terms: TermsFor,
        request: Any,
        body: Callable[[], HttpResponseBase],
        kwargs: dict[str, Any],
    ) -> HttpResponseBase:
        if request.method in {"GET", "HEAD", "OPTIONS", "TRACE"}:
            return body()
        found = terms(request, **kwargs)
        if isinstance(found, HttpResponseBase):
            return found
        request.operation = CurrentOperation.without_id(self.name, found)
        try:
            return body()
        except NotPerformed as outcome:
            return outcome.response or HttpResponse(status=409)


def operation_of(request: Any) -> CurrentOperation:
    """Return the operation of a request inside a door."""
    return cast(CurrentOperation, request.operation)
