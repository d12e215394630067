"""The answers of every interface, as plain objects ready for JSON (4, 6, 7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from poppy_operations.protocol.errors import error_body
from poppy_operations.protocol.operation import DeclineStatement, ReturnedOperation

Status = Literal["approved", "performing", "performed"]
STATES: tuple[Status, ...] = ("approved", "performing", "performed")


def api_approval_required(
    operation: ReturnedOperation, extra: Mapping[str, object] | None = None
) -> dict[str, object]:
    """Return the body with which an API, or ``endpoint``, returns an operation (4, "APIs").

    ``extra`` holds further members, such as the site's own error fields.

    Raises:
        ValueError: ``extra`` has ``error`` or ``operation``.
    """
    further = _further(extra)
    return {**error_body("approval_required"), "operation": operation.as_json(), **further}


def website_approval_required(extra: Mapping[str, object] | None = None) -> dict[str, object]:
    """Return the body for a page's own script: the operation itself is not in it (4, "Websites").

    Raises:
        ValueError: ``extra`` has ``error`` or ``operation``.
    """
    return {**error_body("approval_required"), **_further(extra)}


def api_declined(decline: DeclineStatement) -> dict[str, object]:
    """Return the body with which an API, or ``endpoint``, declines an approval (6)."""
    return error_body("approval_declined", **decline.members())


def status(operation_id: str, status: Status) -> dict[str, object]:
    """Return the body that tells an operation's state, at ``endpoint`` (6) or to a repeat (7).

    Raises:
        ValueError: there is no such state.
    """
    if status not in STATES:
        message = f"The status of an operation is one of {', '.join(STATES)}, not {status!r}."
        raise ValueError(message)
    return {"operation_id": operation_id, "status": status}


def mcp_approval_required(operation: ReturnedOperation) -> dict[str, object]:
    """Return the tool result that returns an operation (4, "MCP").

    The text says what matters, since some clients show nothing else of an error.
    """
    text = (
        f"Not done yet. This needs approval: {operation.summary}"
        if operation.summary
        else "Not done yet. This needs approval of the terms in `operation`."
    )
    return _tool_result(text, {"operation": operation.as_json()}, is_error=True)


def mcp_declined(decline: DeclineStatement) -> dict[str, object]:
    """Return the tool result that declines an approval (6)."""
    text = "Not done. The approval was declined."
    if decline.reason:
        text = f"{text} {decline.reason}"
    return _tool_result(text, api_declined(decline), is_error=True)


def mcp_unfinished() -> dict[str, object]:
    """Return the tool result while an operation is performing, or its outcome unknown (7).

    It is no error, since clients would read an error as "not done". It names no operation, since
    there is nothing to approve.
    """
    text = "The action is in progress. Call again with the same approval to learn how it ended."
    return _tool_result(text, None, is_error=False)


def mcp_performed_elsewhere(operation_id: str) -> dict[str, object]:
    """Return the tool result if another tool has performed the approved operation (7)."""
    text = "Already done. This approval was used for another request, and nothing was done again."
    return _tool_result(text, status(operation_id, "performed"), is_error=False)


def conversation_operation(operation: ReturnedOperation) -> dict[str, object]:
    """Return the content of ``extensions.operations`` that carries an operation (2, 4)."""
    return {"operation": operation.as_json()}


def conversation_declined(decline: DeclineStatement) -> dict[str, object]:
    """Return the content of ``extensions.operations`` that declines an approval (2, 6)."""
    return {"declined": decline.members()}


def _further(extra: Mapping[str, object] | None) -> Mapping[str, object]:
    further = {} if extra is None else extra
    taken = sorted({"error", "operation"} & further.keys())
    if taken:
        message = f"The protocol says what {' and '.join(taken)} hold; give it another name."
        raise ValueError(message)
    return further


def _tool_result(
    text: str, structured: dict[str, object] | None, *, is_error: bool
) -> dict[str, object]:
    content = {"isError": is_error, "content": [{"type": "text", "text": text}]}
    return content if structured is None else {**content, "structuredContent": structured}
