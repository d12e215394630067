"""Bodies that Django takes for empty, although something was sent."""

from __future__ import annotations

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, UnreadablePostError
from django.http.request import RawPostDataException

_NO_LENGTH = frozenset({None, "", "0"})


def is_body_lost(request: HttpRequest) -> bool:
    """Whether a body was sent, but the code that reads the request would find it empty.

    Such a body was sent in chunks, or by HTTP/2, without a ``Content-Length``, or with one that is
    no number. Under WSGI nobody reads it. Under ASGI Django does, but its reader of multipart forms
    and Django REST framework do not. ``request`` is the request that the view got: in a view of
    Django REST framework, the framework's own.
    """
    own: HttpRequest = getattr(request, "_request", request)
    if not _is_announced_without_length(own):
        return False
    if not isinstance(own, ASGIRequest):
        return True
    return own is not request or own.content_type == "multipart/form-data"


def is_form_lost(request: HttpRequest) -> bool:
    """Whether the form of a plain Django view broke off, or was read by something else.

    Django fails the first time it is asked for such a form, as its CSRF protection asks, and from
    then on it says that the form is empty.
    """
    is_form = request.content_type == "application/x-www-form-urlencoded"
    if request.method != "POST" or not is_form or request.META.get("CONTENT_LENGTH") in _NO_LENGTH:
        return False
    try:
        return not (request.POST or request.body)
    except (UnreadablePostError, RawPostDataException):
        return True


def _is_announced_without_length(request: HttpRequest) -> bool:
    length = request.META.get("CONTENT_LENGTH") or ""
    is_number = length.isascii() and length.isdecimal()
    if length and not is_number:
        return True
    if is_number and int(length):
        return False
    return bool(request.META.get("HTTP_TRANSFER_ENCODING")) or (
        not length and _comes_in_frames(request)
    )


def _comes_in_frames(request: HttpRequest) -> bool:
    """Whether a request has a type for a body that HTTP/2 or later can send without a length."""
    if isinstance(request, ASGIRequest):
        version = str(request.scope.get("http_version", "1.1"))
    else:
        version = request.META.get("SERVER_PROTOCOL", "HTTP/1.1").removeprefix("HTTP/")
    return bool(request.META.get("CONTENT_TYPE")) and not version.startswith(("0", "1"))
