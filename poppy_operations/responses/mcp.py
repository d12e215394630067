"""The forms of an MCP tool: results whose text says it all (4, 6, 7)."""

from __future__ import annotations

from poppy_operations.gate.answers import (
    ApprovalRequired,
    Declined,
    ErrorAnswer,
    PlainlyPerformed,
    Replay,
    StillPerforming,
    Undeclared,
)
from poppy_operations.protocol import wire
from poppy_operations.responses.api import OurAnswer


def mcp_answer(answer: OurAnswer, *, approval_sent: bool) -> dict[str, object]:
    """Return the members of the tool result for an answer that is not the site's own.

    ``approval_sent``: an approval came with the call, so that it may be about what is done by now.
    """
    match answer:
        case ApprovalRequired():
            return wire.mcp_approval_required(answer.operation)
        case Declined():
            return wire.mcp_declined(answer.statement)
        case StillPerforming():
            return wire.mcp_unfinished(answer.operation_id)
        case Replay() | PlainlyPerformed():
            return wire.mcp_performed(answer.operation_id)
        case Undeclared():
            return wire.mcp_undeclared()
    return _error_result(answer, approval_sent=approval_sent)


def _error_result(answer: ErrorAnswer, *, approval_sent: bool) -> dict[str, object]:
    if answer.code == "temporarily_unavailable" and approval_sent:
        return wire.mcp_cannot_look()
    retry_after_s = answer.headers.get("Retry-After")
    return wire.mcp_error(answer.code, answer.members, retry_after_s=retry_after_s)
