"""Seeing what a Django request uploads, before the site's code may close it or move it away."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from django.core.files.uploadhandler import FileUploadHandler
from django.http import HttpRequest

from poppy_operations.gate.uploads import note, resolved

_NOTED = "_poppy_noted_uploads"


class Noting(FileUploadHandler):
    """Notes the digest of each file as it comes in, and leaves it to the handlers that follow."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        self.noted: dict[str, list[str]] = {}
        self._contents = hashlib.sha256()

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        """Begin a file."""
        super().new_file(*args, **kwargs)
        self._contents = hashlib.sha256()

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        """Note a piece of it, and pass it on."""
        self._contents.update(raw_data)
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """Note the whole; the file itself is another handler's."""
        self.noted.setdefault(self.field_name, []).append(self._contents.hexdigest())


def note_uploads(request: HttpRequest) -> None:
    """Note what is uploaded before the site's code may close it or move it away.

    If nobody has parsed the request yet, this does not parse it either: the site may want to read
    its body as it is.
    """
    if request.content_type != "multipart/form-data":
        return
    if hasattr(request, "_files"):
        for _, uploads in request.FILES.lists():
            resolved(uploads)
    elif not getattr(request, "_read_started", False):
        handler = Noting(request)
        request.upload_handlers.insert(0, handler)
        vars(request)[_NOTED] = handler


def upload_contents(request: HttpRequest, name: str, uploads: Sequence[Any]) -> list[object]:
    """What the uploads of a form's field are compared by."""
    handler: Noting | None = vars(request).get(_NOTED)
    noted = [] if handler is None else handler.noted.get(name, [])
    if len(noted) == len(uploads):
        for upload, contents in zip(uploads, noted, strict=True):
            note(upload, contents)
    return [resolved(upload) for upload in uploads]
