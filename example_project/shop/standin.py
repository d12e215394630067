"""Stands in for the API's door while it is built: everybody is an ordinary visitor there."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from django.http import HttpResponse, HttpResponseBase

from poppy_operations import Action as ActionWithoutApi
from poppy_operations import CurrentOperation, NotPerformed, Terms

Handler = TypeVar("Handler", bound=Callable[..., HttpResponseBase])


class Action(ActionWithoutApi):
    """An action whose API door lets everybody through."""

    def api(
        self,
        *,
        terms: Callable[..., Terms | HttpResponseBase],
        allowed: Callable[..., HttpResponseBase | None] | None = None,
    ) -> Callable[[Handler], Handler]:
        """Wrap a handler of a DRF view."""

        def wrap(handler: Handler) -> Handler:
            @wraps(handler)
            def through(view: Any, request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
                if allowed is not None:
                    allowed(request, **kwargs)
                found = terms(request, **kwargs)
                if isinstance(found, HttpResponseBase):
                    return found
                request._request.operation = CurrentOperation.without_id(self.name, found)  # noqa: SLF001  DRF has no other name for it
                try:
                    return handler(view, request, *args, **kwargs)
                except NotPerformed as outcome:
                    return outcome.response or HttpResponse(status=409)

            return cast("Handler", through)

        return wrap
