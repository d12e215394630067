"""The answers of every interface, as plain objects ready for JSON (4, 6, 7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from poppy_operations.protocol.errors import error_body
from poppy_operations.protocol.operation import DeclineStatement, ReturnedOperation

Status = Literal["approved", "performing", "performed"]
STATES: tuple[Status, ...] = ("approved", "performing", "performed")
# Where a tool call carries an approval: in its `_meta` (6, "MCP").
MCP_APPROVAL = "personalagentprotocol.org/approval"


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
    return mcp_result(text, {"operation": operation.as_json()}, is_error=True)


def mcp_declined(decline: DeclineStatement) -> dict[str, object]:
    """Return the tool result that declines an approval (6)."""
    text = "Not done. The approval was declined."
    if decline.reason:
        text = f"{text} {decline.reason}"
    return mcp_result(text, api_declined(decline), is_error=True)


def mcp_unfinished(operation_id: str) -> dict[str, object]:
    """Return the tool result while an operation is performing, or its outcome unknown (7).

    It is no error, since clients would read an error as "not done". It has no ``operation``, since
    there is nothing to approve.
    """
    text = "The action is in progress. Call again with the same approval to learn how it ended."
    return mcp_result(text, status(operation_id, "performing"))


def mcp_performed(operation_id: str) -> dict[str, object]:
    """Return the tool result for what was performed before, and whose result is not at hand (7)."""
    text = "Already done. It was performed earlier with this approval; nothing was done again now."
    return mcp_result(text, status(operation_id, "performed"))


def mcp_undeclared() -> dict[str, object]:
    """Return the tool result for an agent that may not get an operation (2).

    An ordinary tool error: ``extension_required`` would refuse the agent on the whole server.
    """
    text = (
        "Not done. This needs an approval, which this call cannot get: its Poppy-Extensions does "
        "not declare version 3 of the operations extension."
    )
    return mcp_result(text, None, is_error=True)


def mcp_error(
    code: str, members: Mapping[str, object], *, retry_after_s: str | None = None
) -> dict[str, object]:
    """Return the tool result for an error of the core protocol."""
    words = f"Not done. {_IN_WORDS[code]} ({code})"
    text = words if retry_after_s is None else f"{words} Try again in {retry_after_s} s."
    return mcp_result(text, error_body(code, **members), is_error=True)


def mcp_cannot_look() -> dict[str, object]:
    """Return the tool result for an approval that cannot be looked at now.

    No error: the action may be under way, or done.
    """
    text = (
        "It is not known now whether this was done. Call again with the same approval in a moment."
    )
    return mcp_result(text, error_body("temporarily_unavailable"))


_IN_WORDS: Mapping[str, str] = {
    "invalid_request": "The approval in _meta, or another part of the request, is malformed.",
    "invalid_session": "The call has no valid Session in its Poppy-Session header.",
    "invalid_token": "The access token is not valid, or has expired.",
    "sign_in_required": "The User has to be signed in to the account that this belongs to.",
    "insufficient_scope": "The access token does not have the scope that this needs.",
    "rate_limited": "Too many operations wait for an approval.",
    "temporarily_unavailable": "The server cannot look now.",
}


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


def mcp_result(
    text: str, structured: Mapping[str, object] | None, *, is_error: bool = False
) -> dict[str, object]:
    """Return a tool result whose text suffices, and what programs read of it."""
    content = {"isError": is_error, "content": [{"type": "text", "text": text}]}
    return content if structured is None else {**content, "structuredContent": dict(structured)}
