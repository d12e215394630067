"""What a Django request asks for, read for the gate to compare."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from ipaddress import IPv6Address
from typing import Any
from urllib.parse import urlsplit

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, QueryDict
from django.utils.datastructures import MultiValueDict

from poppy_operations.doors.http_uploads import upload_contents
from poppy_operations.gate.comparing import RequestContent
from poppy_operations.gate.ignoring import without
from poppy_operations.responses.continuing import CSRF_FIELD

DEFAULT_PORTS = {"http": 80, "https": 443}


def http_content(
    request: HttpRequest,
    *,
    action: str,
    data: Any,
    files: MultiValueDict[str, Any] | None = None,
    ignore: Sequence[str] = (),
) -> RequestContent:
    """Read a request. ``data`` is its parsed body: JSON by value, or a form's fields."""
    is_form = isinstance(data, MultiValueDict)
    body = _form_values(request, data, files or MultiValueDict()) if is_form else data
    return RequestContent(
        target=http_target(request, action),
        query=without(fields_of(request.GET), ignore),
        body=without(body, ignore),
        is_form=is_form,
        target_before=partial(_target_before, request, action),
    )


def http_target(request: HttpRequest, action: str) -> dict[str, Any]:
    """Where a request goes: the action, the method, and what the URL says."""
    host, port = _authority(request.get_host(), request.scheme or "")
    return {
        "action": action,
        "method": request.method,
        "scheme": request.scheme,
        "host": host,
        "port": port,
        # A pattern may well match more than its arguments tell.
        "path": request.path,
        **_route(request),
    }


def _target_before(request: HttpRequest, action: str) -> dict[str, Any]:
    host = request.get_host()
    return {"action": action, "method": request.method, "host": host, **_route(request)}


def _route(request: HttpRequest) -> dict[str, Any]:
    match = request.resolver_match
    return {
        "route": request.path if match is None else match.route,
        "arguments": {} if match is None else _arguments(match.args, match.kwargs),
    }


def _authority(authority: str, scheme: str) -> tuple[str, int | None]:
    """The host in its one spelling, and the port, which may be left out if it is the scheme's."""
    try:
        parts = urlsplit(f"//{authority}")
        host, port = (parts.hostname or "").rstrip("."), parts.port
        if ":" in host:
            host = IPv6Address(host).compressed
    except ValueError:  # A site that allows every host also gets requests for what is no host.
        return authority.lower(), None
    return host, port or DEFAULT_PORTS.get(scheme)


def _arguments(args: Iterable[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {**{str(number): value for number, value in enumerate(args)}, **kwargs}


def fields_of(data: MultiValueDict[str, Any]) -> dict[str, Any]:
    """Each field with all of its values, but for the CSRF token."""
    return {name: data.getlist(name) for name in data if name != CSRF_FIELD}


def _form_values(
    request: HttpRequest, data: MultiValueDict[str, Any], files: MultiValueDict[str, Any]
) -> dict[str, Any]:
    fields = fields_of(data)
    for name, uploads in files.lists():
        fields[name] = [*fields.get(name, []), *uploads]
    return {name: _values_of_field(request, name, values) for name, values in fields.items()}


def _values_of_field(request: HttpRequest, name: str, values: Sequence[Any]) -> list[Any]:
    texts = [value for value in values if not isinstance(value, UploadedFile)]
    uploads = [value for value in values if isinstance(value, UploadedFile)]
    return [*texts, *upload_contents(request, name, uploads)]


def parsed_body(request: HttpRequest) -> Any:
    """The body of a plain Django request: fields of a form, JSON by value, else its bytes' digest.

    The raw body is read only if it is neither a form nor an upload, so that large uploads
    stay what Django makes of them.
    """
    content_type = request.content_type or ""
    is_form = content_type == "application/x-www-form-urlencoded"
    if request.method == "POST" and (is_form or content_type == "multipart/form-data"):
        return request.POST
    raw = request.body
    if is_form:  # Django parses the forms of POST alone.
        try:
            return QueryDict(raw, encoding=request.encoding)
        except (LookupError, UnicodeError):  # A charset in which no text can be, such as zlib.
            pass
    if content_type == "application/json" or content_type.endswith("+json"):
        try:
            return json.loads(raw)
        except (ValueError, RecursionError):
            pass
    return by_bytes(raw) if raw else QueryDict()


def by_bytes(raw: bytes) -> bytes:
    """What stands for content that nobody parses: it is equal if the bytes are."""
    return hashlib.sha256(raw).digest()
