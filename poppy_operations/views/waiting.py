"""What a waiting page asks: the state of the operation that it waits for (design: website)."""

from __future__ import annotations

import logging
from functools import cache

from django.contrib.auth.decorators import login_not_required
from django.contrib.sessions.backends.base import SessionBase
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_GET

from poppy_operations.atomic_requests import never_atomic
from poppy_operations.doors.http_asker import HttpAsker
from poppy_operations.gate.references import watched
from poppy_operations.models import instants
from poppy_operations.protocol.ids import is_ref
from poppy_operations.responses.bodies import json_answer

logger = logging.getLogger("poppy_operations")

RETRY_AFTER_S = 5
NEEDS_UPDATE = "CSRF_COOKIE_NEEDS_UPDATE"


@never_atomic
@login_not_required
@require_GET
def waiting(request: HttpRequest, watch: str) -> HttpResponse:
    """Say ``waiting``, ``approved``, ``performing``, ``performed`` or ``unknown``.

    Only the browser whose page it is, with a live join, is told the state; others get ``unknown``.
    With ``approved`` comes the browser's CSRF token: a login may have changed it. The Django
    session is not written, so that an open page neither keeps it alive nor undoes what another
    request of the browser writes meanwhile.
    """
    try:
        status = watched(HttpAsker(request), watch, instants.now()) if is_ref(watch) else "unknown"
        response = json_answer({"status": status, **_csrf_token(request, status)})
    except (DatabaseError, InterfaceError):
        logger.warning("The database could not be read for a waiting page.", exc_info=True)
        response = json_answer({"status": "later"}, 503, {"Retry-After": str(RETRY_AFTER_S)})
    _leave_unsaved(request)
    patch_vary_headers(response, ["Cookie"])
    return response


def _csrf_token(request: HttpRequest, status: str) -> dict[str, str]:
    # Only if there is one: a new one might be kept in the Django session.
    if status != "approved" or "CSRF_COOKIE" not in request.META:
        return {}
    needs_update = request.META.get(NEEDS_UPDATE, False)
    token = get_token(request)
    request.META[NEEDS_UPDATE] = needs_update  # A poll renews no cookie either.
    return {"csrf_token": token}


class _SavedIfWritten(SessionBase):
    """A Django session that is saved only if somebody wrote to it.

    With ``SESSION_SAVE_EVERY_REQUEST``, Django saves all others too, unless they cannot tell
    whether they are empty. Nobody but Django's middleware asks a session that.
    """

    def is_empty(self) -> bool:
        """Whether it is empty. Raises ``AttributeError`` if nobody has written to it."""
        if not self.modified:
            raise AttributeError
        return super().is_empty()


@cache
def _saved_if_written(store: type[SessionBase]) -> type[SessionBase]:
    return type(store.__name__, (_SavedIfWritten, store), {"__module__": store.__module__})


def _leave_unsaved(request: HttpRequest) -> None:
    session = getattr(request, "session", None)
    if isinstance(session, SessionBase):
        session.__class__ = _saved_if_written(type(session))
