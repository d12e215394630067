"""What a Django request uploads: seen before the site's code may close it or move it away."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler
from django.http import HttpRequest

from poppy_operations.declarations.callables import is_async
from poppy_operations.gate.uploads import note, resolved

_NOTED = "_poppy_noted_uploads"
_KEEPING = "_poppy_keeping_uploads"


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

    def handle_raw_input(self, *args: Any, **kwargs: Any) -> None:
        """Let ``terms`` close no file of the other handlers, if it has the request parsed."""
        for other in self.request.upload_handlers:  # type: ignore[union-attr]  # it has one
            if other is not self and _KEEPING in vars(self.request):
                complete = partial(_completed_and_kept, other.file_complete)
                other.file_complete = complete  # type: ignore[method-assign]  # for this request

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        """Note a piece of it, and pass it on."""
        self._contents.update(raw_data)
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """Note the whole; the file itself is another handler's."""
        self.noted.setdefault(self.field_name, []).append(self._contents.hexdigest())


def _completed_and_kept(complete: Callable[[int], Any], file_size: int) -> Any:
    upload = complete(file_size)
    _keep_open(upload)
    return upload


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


def kept_for_the_view(request: HttpRequest, terms: Callable[[], Any]) -> Callable[[], Any]:
    """``terms``, after which the uploads can be read again, from their beginning.

    In the request that performs, terms are asked for twice, and the view reads the uploads after
    them. In an agent's request, ``terms`` may also close them.
    """
    if is_async(terms):

        async def aterms() -> Any:
            with _kept(request):
                return await terms()

        return aterms

    def sterms() -> Any:
        with _kept(request):
            return terms()

    return sterms


@contextmanager
def _kept(request: HttpRequest) -> Iterator[None]:
    held = vars(request)
    held[_KEEPING] = True
    for upload in _parsed_uploads(request):
        _keep_open(upload)
    try:
        yield
    finally:
        held.pop(_KEEPING, None)
        for upload in _parsed_uploads(request):
            _let_go(upload)


def _parsed_uploads(request: HttpRequest) -> list[Any]:
    if not hasattr(request, "_files"):
        return []  # Nobody has parsed the request.
    return [upload for _, uploads in request.FILES.lists() for upload in uploads]


def _keep_open(upload: object) -> None:
    if isinstance(upload, UploadedFile):
        vars(upload)["close"] = _stay_open


def _let_go(upload: Any) -> None:
    if vars(upload).get("close") is _stay_open:
        del vars(upload)["close"]
    with suppress(Exception):  # moved away, or in a storage that raises anything
        upload.seek(0)


def _stay_open() -> None:
    """Stand in for ``close()`` of an upload that is read again."""
