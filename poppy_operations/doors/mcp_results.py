"""What a tool returns: how it is sent, what it says of the action, and how it is given again."""

from __future__ import annotations

import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied, SuspiciousOperation, ValidationError
from django.core.serializers.json import DjangoJSONEncoder
from django.http import Http404, HttpResponse, HttpResponseBase
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, InputRequiredResult

from poppy_operations.conf import conf
from poppy_operations.declarations.outcomes import NotPerformed, Verdict
from poppy_operations.gate.answers import Replay
from poppy_operations.protocol.stored_answer import StoredAnswer
from poppy_operations.protocol.wire import mcp_performed, mcp_result, status
from poppy_operations.responses.replays import is_stored

Result = CallToolResult | InputRequiredResult
Convert = Callable[[Any], Result]
# Of the bodies that are stored: a whole result, and not the body of a response.
# Of JSON-RPC's numbers that are the server's to give.
REFUSED = -32050
STORED_RESULT = "application/vnd.mcp.tool-result+json"


def tool_result(members: dict[str, object]) -> CallToolResult:
    """Make the SDK's result of its members."""
    return CallToolResult.model_validate(members)


def whole_error(members: dict[str, Any]) -> MCPError:
    """Make an error of the JSON-RPC call of a result's members, with what they say.

    For an answer whose HTTP status is an error: clients then read no result.
    """
    (text,) = members["content"]
    return MCPError(REFUSED, text["text"], members["structuredContent"])


class ToolResults:
    """What the gate asks of the results of a tool; ``convert`` makes them of what it returns.

    ``structured``: the tool has an output schema, without which clients accept no success.
    """

    def __init__(self, convert: Convert, *, structured: bool = False) -> None:
        self.convert = convert
        self.structured = structured

    def is_answer(self, said: object) -> bool:
        """Whether ``terms`` and ``allowed`` may answer a call with it."""
        return isinstance(said, CallToolResult | HttpResponseBase)

    def verdict(self, result: Any) -> Verdict:
        """What a result says of the action: an error that it failed, a question that it waits."""
        if isinstance(result, InputRequiredResult):
            return Verdict.NOTHING_HAPPENED
        said = of_response(result) if isinstance(result, HttpResponseBase) else result
        is_error = isinstance(said, CallToolResult) and said.is_error
        return Verdict.FAILED if is_error else Verdict.PERFORMED

    def nothing_happened(self, said: NotPerformed) -> CallToolResult:
        """The result of an action that says that nothing happened.

        Raises ``TypeError`` for what is no answer of a tool.
        """
        if said.response is None:
            return tool_result(mcp_result("Not done. Nothing happened.", None, is_error=True))
        if isinstance(said.response, CallToolResult):
            return said.response
        if isinstance(said.response, HttpResponseBase):
            return of_response(said.response)
        kind = type(said.response).__name__
        message = f"NotPerformed(…) has a result of a tool, a response or None, not {kind}."
        raise TypeError(message)

    def final(self, result: Any) -> Result:
        """The result as it is sent. Raises what the SDK does for one of another shape."""
        return of_response(result) if isinstance(result, HttpResponseBase) else self.convert(result)

    def said(self, result: Any) -> Result:
        """The result of code that refuses a call, or tells of one: it may have any shape."""
        said = result if isinstance(result, CallToolResult | InputRequiredResult) else None
        said = said or self.final(result)
        if isinstance(said, CallToolResult) and self.structured and not said.is_error:
            said.structured_content = said.structured_content or {}
        return said

    def stored(self, result: Any, *, with_body: bool) -> StoredAnswer:
        """What is kept of a result: all of it, or nothing if it is too large."""
        body = self.said(result).model_dump_json(by_alias=True, exclude_none=True).encode()
        kept = body if with_body and len(body) <= conf.stored_body_bytes else None
        return StoredAnswer(HTTPStatus.OK, [("Content-Type", STORED_RESULT)], kept)

    def again(self, answer: StoredAnswer) -> CallToolResult:
        """A result of what was kept: of one, or of a response, such as a worker's."""
        body = answer.body or b""
        if is_tools_own(answer):
            return CallToolResult.model_validate_json(body)
        return _of_body(answer.status, content_type_of(answer), body)


def of_performance(answer: Replay, results: ToolResults) -> CallToolResult:
    """The result of what was performed before: the stored one, or one that says so.

    What was stored of a response, such as a worker's, is never an error and always has something
    structured: clients refuse a result without it if there is an output schema.
    """
    performance, operation_id = answer.performance, answer.operation_id
    if not is_stored(performance):
        return tool_result(mcp_performed(operation_id))
    body = bytes(performance.body or b"")
    stored = StoredAnswer(performance.status, json.loads(performance.headers), body)
    again = results.again(stored)
    again.is_error = False
    if again.structured_content is None and not is_tools_own(stored):
        again.structured_content = status(operation_id, "performed")
    return again


def is_tools_own(answer: StoredAnswer) -> bool:
    """Whether an answer was stored of a tool's result, and not of a response."""
    return content_type_of(answer) == STORED_RESULT


def content_type_of(answer: StoredAnswer) -> str:
    """The Content-Type among the headers of an answer; empty if there is none."""
    return next((value for name, value in answer.headers if name.lower() == "content-type"), "")


def of_response(response: Any) -> CallToolResult:
    """Make a result of a response that the site shares with its API, such as a refusal."""
    data = getattr(response, "data", None)
    if data is not None:  # of Django REST framework, whose renderer a view would have chosen
        body = json.dumps(data, cls=DjangoJSONEncoder).encode()
        return _of_body(response.status_code, "application/json", body)
    is_plain = isinstance(response, HttpResponse) and getattr(response, "is_rendered", True)
    content = response.content if is_plain else b""
    return _of_body(response.status_code, response.headers.get("Content-Type", ""), content)


def _of_body(code: int, content_type: str, body: bytes) -> CallToolResult:
    is_error = code >= HTTPStatus.BAD_REQUEST
    kind = content_type.partition(";")[0].strip().lower()
    text = body.decode("utf-8", "replace") if kind == "text/plain" or _holds_json(kind) else ""
    structured = _object_in(body) if _holds_json(kind) else None
    words = text or ("Not done." if is_error else "Done.")
    return tool_result(mcp_result(words, structured, is_error=is_error))


def _holds_json(kind: str) -> bool:
    return kind == "application/json" or kind.endswith("+json")


def _object_in(body: bytes) -> dict[str, object] | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def of_exception(error: Exception) -> CallToolResult | None:
    """The answer to what Django, or its REST framework, answers by itself in a view.

    ``None`` for every other exception: it is the SDK's to handle.
    """
    if isinstance(error, Http404):
        text = f"Not found. {error}"
    elif isinstance(error, PermissionDenied):
        text = f"Not permitted. {error}"
    elif isinstance(error, ValidationError):
        text = " ".join(error.messages)
    elif isinstance(error, SuspiciousOperation):
        text = "The request is not acceptable."
    elif hasattr(error, "detail") and hasattr(error, "status_code"):
        text = f"Not done. {_words(error.detail)}"
    else:
        return None
    return tool_result(mcp_result(text.strip(), None, is_error=True))


def _words(detail: object) -> str:
    if isinstance(detail, dict):
        return " ".join(f"{name}: {_words(value)}" for name, value in detail.items())
    if isinstance(detail, list | tuple):
        return " ".join(map(_words, detail))
    return str(detail)
