"""JSON bodies, and the headers that all answers of ours have in common."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from django.core.serializers.json import DjangoJSONEncoder
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse

from poppy_operations.company import get_company
from poppy_operations.conf import conf
from poppy_operations.gate.answers import ErrorAnswer
from poppy_operations.protocol.errors import STATUSES, error_body

# Django's cache middleware does not know `no-store`; what it heeds is `private`.
NO_STORE = "no-store, private"

Response = TypeVar("Response", bound=HttpResponseBase)


def not_stored(response: Response) -> Response:
    """Mark a response as one that nobody may store, whatever it said before (AMB-22)."""
    response.headers["Cache-Control"] = NO_STORE
    return response


def json_answer(
    body: Mapping[str, object], status: int = 200, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    """Return a JSON object that nobody may store."""
    return not_stored(JsonResponse(dict(body), status=status, headers=headers))


def error_response(answer: ErrorAnswer) -> HttpResponse:
    """Return an error of the core protocol: its code, members, status and headers."""
    body = error_body(answer.code, **answer.members)
    return json_answer(body, status_of(answer), answer.headers)


def status_of(answer: ErrorAnswer) -> int:
    """The HTTP status of an error; that of ``extension_required`` is a setting."""
    if answer.status is not None:
        return answer.status
    if answer.code == "extension_required":
        return conf.extension_required_status
    return STATUSES[answer.code]


def extra_members(request: HttpRequest, interface: str) -> Mapping[str, Any]:
    """What ``Company.extra_members`` adds to the body that asks for approval (4).

    Raises:
        TypeError: it is no mapping of names to what JSON can hold.
        ValueError: a value has no form in JSON, such as NaN, or is nested in itself.
    """
    extra: object = get_company().extra_members(request, interface)
    if not isinstance(extra, Mapping) or not all(isinstance(name, str) for name in extra):
        message = "Company.extra_members returns a mapping of names to what JSON can hold."
        raise TypeError(message)
    if not extra:
        return extra
    try:
        json.dumps(dict(extra), cls=DjangoJSONEncoder, allow_nan=False)
    except (TypeError, ValueError) as error:
        message = f"Company.extra_members returned what JSON cannot hold: {error}"
        raise (TypeError if isinstance(error, TypeError) else ValueError)(message) from error
    return extra
