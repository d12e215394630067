"""The stored answer of an operation that was performed before (7)."""

from __future__ import annotations

import json
from http import HTTPStatus

from django.http import HttpResponse

from poppy_operations.models import Performance
from poppy_operations.protocol.stored_answer import StoredAnswer
from poppy_operations.responses.bodies import not_stored
from poppy_operations.site_responses import sent_again

WITHOUT_BODY = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.RESET_CONTENT, HTTPStatus.NOT_MODIFIED})


def is_stored(performance: Performance) -> bool:
    """Whether all of an answer was stored, or it has no body to store."""
    return performance.body is not None or performance.status in WITHOUT_BODY


def replayed(performance: Performance) -> HttpResponse | None:
    """Return status, headers and bytes as they were first sent.

    ``None`` if the body was not stored although the status promises one.
    """
    if performance.body is not None:
        return _again(performance, bytes(performance.body))
    if performance.status in WITHOUT_BODY:
        return _again(performance, b"")
    return redirected(performance)


def redirected(performance: Performance) -> HttpResponse | None:
    """Return the stored redirect, or ``None`` if the answer was no redirect."""
    is_redirect = 300 <= performance.status < 400
    return (
        _again(performance, b"")
        if is_redirect and "location" in _header_names(performance)
        else None
    )


def _header_names(performance: Performance) -> set[str]:
    return {name.lower() for name, _value in json.loads(performance.headers)}


def _again(performance: Performance, body: bytes) -> HttpResponse:
    headers = json.loads(performance.headers)
    return not_stored(sent_again(StoredAnswer(performance.status, headers, body)))
