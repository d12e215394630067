"""Requests whose content was announced and cannot be read, as a WSGI server hands them on."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import Any

from django.http import UnreadablePostError

FORM = "application/x-www-form-urlencoded"
CHUNKED: Mapping[str, Any] = {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True}
WITHOUT_LENGTH: list[Mapping[str, Any]] = [
    CHUNKED,
    {**CHUNKED, "CONTENT_LENGTH": "0"},
    {"CONTENT_LENGTH": "many"},
    {"SERVER_PROTOCOL": "HTTP/2.0"},
]


class Broken(BytesIO):
    """What a server hands on of a body whose sender has gone."""

    def read(self, *_: Any) -> bytes:
        """Fail."""
        raise UnreadablePostError


def body_of(content: str, content_type: str, **environ: Any) -> dict[str, Any]:
    """What WSGI hands on of a body; it has no length unless one is given."""
    return {"CONTENT_TYPE": content_type, "wsgi.input": BytesIO(content.encode()), **environ}
