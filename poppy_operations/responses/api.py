"""The forms of an API, which ``endpoint`` shares (4, 6, 7)."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from poppy_operations.gate.answers import (
    ApprovalRequired,
    Declined,
    PlainlyPerformed,
    Refused,
    Replay,
    StillPerforming,
    Undeclared,
)
from poppy_operations.protocol import wire
from poppy_operations.responses.bodies import extra_members, json_answer, refused
from poppy_operations.responses.replays import replayed

OurAnswer = (
    ApprovalRequired | Declined | StillPerforming | Replay | PlainlyPerformed | Undeclared | Refused
)
EXTENSION_REQUIRED = Refused("extension_required", {"extension": "operations"})


def api_answer(answer: OurAnswer, request: HttpRequest) -> HttpResponse:
    """Return an answer as JSON.

    Raises what ``extra_members`` raises, and ``ValueError`` where the site's members would
    overwrite the protocol's.
    """
    match answer:
        case ApprovalRequired():
            extra = extra_members(request, "api")
            return json_answer(wire.api_approval_required(answer.operation, extra), 403)
        case Declined():
            return json_answer(wire.api_declined(answer.statement), 403)
        case StillPerforming():
            # No error member: nobody may read it as a failure (7).
            body = wire.status(answer.operation_id, "performing")
            return json_answer(body, 503, {"Retry-After": str(answer.retry_after_s)})
        case Replay():
            return replayed(answer.performance) or _performed(answer.operation_id)
        case PlainlyPerformed():
            return _performed(answer.operation_id)
        case Undeclared():
            return refused(EXTENSION_REQUIRED)
    return refused(answer)


def _performed(operation_id: str) -> HttpResponse:
    return json_answer(wire.status(operation_id, "performed"))
