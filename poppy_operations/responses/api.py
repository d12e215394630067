"""The forms of an API, which ``endpoint`` shares (4, 6, 7)."""

from __future__ import annotations

import logging

from django.http import HttpRequest, HttpResponse

from poppy_operations.company import get_company
from poppy_operations.declarations.arguments import require_response
from poppy_operations.gate.answers import (
    EXTENSION_REQUIRED,
    ApprovalRequired,
    Declined,
    ErrorAnswer,
    PlainlyPerformed,
    Replay,
    StillPerforming,
    Undeclared,
)
from poppy_operations.logs import log_of
from poppy_operations.protocol import wire
from poppy_operations.responses.bodies import error_response, extra_members, json_answer, not_stored
from poppy_operations.responses.replays import replayed

OurAnswer = (
    ApprovalRequired
    | Declined
    | StillPerforming
    | Replay
    | PlainlyPerformed
    | Undeclared
    | ErrorAnswer
)


def api_answer(answer: OurAnswer, request: HttpRequest) -> HttpResponse:
    """Return an answer as JSON.

    Raises what ``extra_members`` raises, and ``ValueError`` if the site's members would
    overwrite the protocol's.
    """
    match answer:
        case ApprovalRequired():
            extra = extra_members(request, "api")
            return json_answer(wire.api_approval_required(answer.operation, extra), 403)
        case Declined():
            return json_answer(wire.api_declined(answer.statement), 403)
        case StillPerforming():
            return _unfinished(answer, request)
        case Replay():
            return replayed(answer.performance) or _told_performed(answer.operation_id)
        case PlainlyPerformed():
            return _told_performed(answer.operation_id)
        case Undeclared():
            return error_response(EXTENSION_REQUIRED)
    return error_response(answer)


def _unfinished(answer: StillPerforming, request: HttpRequest) -> HttpResponse:
    own = _own_unfinished(answer.operation_id, request)
    if own is not None:
        return not_stored(own)
    # No error member: nobody may read it as a failure (7).
    body = wire.status(answer.operation_id, "performing")
    return json_answer(body, 503, {"Retry-After": str(answer.retry_after_s)})


def _own_unfinished(operation_id: str, request: HttpRequest) -> HttpResponse | None:
    """The site's answer for work that has not finished, unless it reads like a failure."""
    try:
        own = get_company().unfinished(request, operation_id)
        require_response("Company.unfinished returns what", own)
    except Exception as error:  # noqa: BLE001  no fault of the action, and must not look like one
        message = "Company.unfinished failed."
        log_of(logging.ERROR, message, operation_id=operation_id, error=error)
        return None
    if own is None or own.status_code < 400:
        return own
    if own.status_code == 503 and own.has_header("Retry-After"):
        return own
    message = "Company.unfinished answered %s, a failure."
    log_of(logging.ERROR, message, own.status_code, operation_id=operation_id)
    return None


def _told_performed(operation_id: str) -> HttpResponse:
    return json_answer(wire.status(operation_id, "performed"))
