"""What a Django request asks for, read for the gate to compare."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.http import HttpRequest, QueryDict
from django.utils.datastructures import MultiValueDict

from poppy_operations.gate.comparing import RequestContent, file_content, plain, without
from poppy_operations.responses.continuing import CSRF_FIELD


def http_content(
    request: HttpRequest,
    *,
    action: str,
    data: Any,
    files: MultiValueDict[str, Any] | None = None,
    ignore: Sequence[str] = (),
) -> RequestContent:
    """Read a request. ``data`` is its parsed body: JSON by value, or a form's fields."""
    return RequestContent(
        target=_target(request, action),
        query=without(_fields(request.GET), ignore),
        body=without(_body(data, files), ignore),
    )


def _target(request: HttpRequest, action: str) -> dict[str, Any]:
    match = request.resolver_match
    return {
        "action": action,
        "method": request.method,
        "host": request.get_host(),
        "route": request.path if match is None else match.route,
        "arguments": {} if match is None else plain(_arguments(match.args, match.kwargs)),
    }


def _arguments(args: Iterable[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {**{str(number): value for number, value in enumerate(args)}, **kwargs}


def _fields(data: MultiValueDict[str, Any]) -> dict[str, Any]:
    return {name: data.getlist(name) for name in data if name != CSRF_FIELD}


def _body(data: Any, files: MultiValueDict[str, Any] | None) -> Any:
    if isinstance(data, MultiValueDict):
        fields: dict[str, Any] = {name: plain(value) for name, value in _fields(data).items()}
        for name, uploads in files.lists() if files else ():
            fields[name] = [*fields.get(name, []), *map(file_content, uploads)]
        return fields
    return plain(data)


def parsed_body(request: HttpRequest) -> Any:
    """The body of a plain Django request: fields of a form, JSON by value, else its bytes' digest.

    The raw body is read only where it is neither a form nor an upload, so that large uploads
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


def by_bytes(raw: bytes) -> dict[str, str]:
    """Content that nobody parses: it is the same where its bytes are."""
    return {"bytes": hashlib.sha256(raw).hexdigest()}
