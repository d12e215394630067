"""How an uploaded file is compared, whatever the site does with it meanwhile."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from django.core.files.uploadedfile import UploadedFile

from poppy_operations.protocol.content import FileContent
from poppy_operations.protocol.plain_json import DEEPEST_CONTENT

_CONTENT = "_poppy_content"


def resolved(value: object, depth: int = 0) -> object:
    """The value, with each upload in it replaced by its ``FileContent``."""
    if isinstance(value, UploadedFile):
        return _known(value)
    if depth > DEEPEST_CONTENT:
        return value  # Too deep to be compared: it equals nothing, not even itself.
    if isinstance(value, Mapping):
        # If a form's field has several values, items() gives only the last one.
        lists = getattr(value, "lists", None)
        items = lists() if callable(lists) else value.items()
        return {name: resolved(member, depth + 1) for name, member in items}
    if isinstance(value, list | tuple):
        return [resolved(member, depth + 1) for member in value]
    return value


def note(upload: UploadedFile[Any], contents: str) -> None:
    """Note the digest of an upload's contents, which was made as it came in."""
    vars(upload).setdefault(_CONTENT, _file_content(upload, contents))


def _known(upload: UploadedFile[Any]) -> object:
    held = vars(upload)
    if _CONTENT not in held:
        try:
            held[_CONTENT] = _read_upload(upload)
        except Exception:  # noqa: BLE001  storages raise anything; what nobody can read equals nothing
            return upload
    return held[_CONTENT]


def _read_upload(upload: UploadedFile[Any]) -> FileContent:
    contents = hashlib.sha256()
    for chunk in upload.chunks():  # From the beginning, however far the site has read.
        contents.update(chunk)
    upload.seek(0)
    return _file_content(upload, contents.hexdigest())


def _file_content(upload: UploadedFile[Any], contents: str) -> FileContent:
    return FileContent(upload.name, upload.content_type, upload.size, contents)
