"""Errors of the core protocol, raised in views of Django REST framework."""

from __future__ import annotations

from typing import Any

from rest_framework.exceptions import APIException
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from poppy_operations.gate.answers import ErrorAnswer
from poppy_operations.protocol.errors import STATUSES, error_body


class CoreError(APIException):
    """An error of the core protocol: its body is ``{"error": …}`` and nothing else.

    It is no ``AuthenticationFailed``, whose status depends on a view's other classes.
    """

    def __init__(self, error: ErrorAnswer) -> None:
        body: Any = error_body(error.code, **error.members)
        super().__init__(body)
        self.status_code = STATUSES[error.code]
        # By these Django REST framework's exception handler sets the headers.
        self.auth_header = error.headers.get("WWW-Authenticate")
        self.wait = int(error.headers.get("Retry-After", 0)) or None


def core_error(request: Request, error: ErrorAnswer) -> CoreError:
    """Return the exception for an error, which is sent as JSON whatever the request accepts."""
    renderer: Any = request
    renderer.accepted_renderer = JSONRenderer()
    renderer.accepted_media_type = JSONRenderer.media_type
    return CoreError(error)
