"""The door of MCP tools. It is imported when the first tool is declared: the SDK is an extra."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any, TypeVar

from asgiref.sync import sync_to_async

from poppy_operations.declarations.arguments import require_scope
from poppy_operations.declarations.callables import is_async
from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.declarations.tool_calls import record_of
from poppy_operations.doors.arguments import Names, called, ignored_names
from poppy_operations.doors.http_content import fields_of, http_target
from poppy_operations.doors.mcp_asker import McpAsker
from poppy_operations.doors.mcp_results import (
    Result,
    ToolResults,
    of_exception,
    of_performance,
    tool_result,
)
from poppy_operations.doors.mcp_servers import ServersSeen
from poppy_operations.doors.mcp_signatures import (
    ToolShape,
    refuse_misused,
    refuse_unfit_for_tools,
    shape_of,
)
from poppy_operations.doors.mcp_threads import own_thread
from poppy_operations.doors.mcp_transport import tell_transport
from poppy_operations.doors.placement import refuse_nested
from poppy_operations.doors.plain import is_within, like, running
from poppy_operations.gate import order
from poppy_operations.gate.answers import Answer, PlainlyPerformed, Replay, SiteAnswer, Undeclared
from poppy_operations.gate.authorization import scope_error
from poppy_operations.gate.calls import Call
from poppy_operations.gate.comparing import RequestContent
from poppy_operations.gate.ignoring import without
from poppy_operations.gate.sync_and_async import Steps, adrive, deciding, site
from poppy_operations.gated_handlers import ACTION, GATE
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.logs import log_of
from poppy_operations.protocol import interfaces
from poppy_operations.responses import operation_id_of
from poppy_operations.responses.mcp import mcp_answer
from poppy_operations.responses.replays import is_stored
from poppy_operations.sessions.reports import hide_our_frames

F = TypeVar("F", bound=Callable[..., Any])
# At the request of a call: it has come to a gate.
_CAME = "_poppy_came_to_gate"


def tool_door(
    action: DeclaredAction,
    tool: F,
    *,
    terms: Callable[..., Any],
    allowed: Callable[..., Any] | None,
    replay: Callable[..., Any] | None,
    scope: str | None,
    ignore: Names,
) -> F:
    """Put a tool behind the gate: a function, which its MCP server calls."""
    refuse_misused(action, tool)
    refuse_nested(action, tool, "tool")
    shape = shape_of(action, tool)
    refuse_unfit_for_tools(action, shape, terms=terms, allowed=allowed, replay=replay)
    if scope is not None:
        require_scope(f"{action.name}: scope=", scope)
    ignored, servers, results = ignored_names(ignore), ServersSeen(), ToolResults(shape.convert)

    def call_of(asker: McpAsker, arguments: Mapping[str, Any]) -> Call:
        request, named = asker.request, {name: arguments[name] for name in shape.named}
        hide_our_frames(request)
        call = Call(
            action=action,
            asker=asker,
            results=results,
            request=request,
            content=partial(_content, action.name, shape, asker, ignored),
            terms=like(terms, partial(called, terms, request, **named)),
            body=running(tool, request, partial(tool, **arguments), results.final),
            interface=interfaces.MCP,
            ignore=ignored,
        )
        if allowed is not None:
            call.allowed = like(allowed, partial(called, allowed, request, **named))
        if replay is not None:
            call.replay = like(replay, partial(replay, request))
        return call

    @wraps(tool)
    async def gated(**arguments: Any) -> Result:
        asker = McpAsker.of(arguments.get(shape.context))
        if is_within(action, asker.request):
            inner = tool if is_async(tool) else sync_to_async(tool)
            return results.final(await inner(**arguments))
        _refuse_second(action, asker.request)
        await servers.look_at(asker.context, action)
        async with own_thread():
            try:
                return await adrive(_answered(call_of(asker, arguments), results, scope))
            except Exception as error:
                said = of_exception(error)
                if said is None:
                    raise
                return said

    del gated.__wrapped__  # type: ignore[attr-defined]  # the SDK would look at the tool itself
    shape.show(gated, tool)
    setattr(gated, GATE, frozenset())
    setattr(gated, ACTION, action)
    result: F = gated  # type: ignore[assignment]  # the server awaits it; nobody else calls it
    return result


def _refuse_second(action: DeclaredAction, request: Any) -> None:
    if getattr(request, _CAME, False):
        message = (
            f"{action.name}: this call of a tool has come to a gate before. One call performs one "
            "action: put both into the terms of one."
        )
        raise RuntimeError(message)
    setattr(request, _CAME, True)


def _content(
    action: str, shape: ToolShape, asker: McpAsker, ignore: tuple[str, ...]
) -> RequestContent:
    """What a call asks for: the arguments as they were sent, and not what the SDK made of them."""
    params = record_of(asker.context).params or {}
    server = getattr(asker.context, "mcp_server", None) or getattr(asker.context, "fastmcp", None)
    here = {"server": getattr(server, "name", ""), "tool": params.get("name"), "action": action}
    sent = shape.without_defaults(params.get("arguments") or {})
    if asker.is_without_http:
        return RequestContent(here, {}, without(sent, ignore))
    return RequestContent(
        {**http_target(asker.request, action), **here},
        without(fields_of(asker.request.GET), ignore),
        without(sent, ignore),
    )


def _answered(call: Call, results: ToolResults, scope: str | None) -> Steps[Result]:
    """Take a call through the gate, and make a result of its answer."""
    answer: Answer | None = None
    if scope is not None:
        try:
            answer = yield from deciding(partial(_scope_error, call, scope))
        except Busy as error:
            answer = order.busy(call, error)
    if answer is None:
        answer = (yield from order.request(call)).answer
    if isinstance(answer, SiteAnswer):
        return results.final(answer.result)
    if isinstance(answer, Undeclared) and answer.result is not None:
        return results.final(answer.result)
    return (yield from _in_form(answer, call, results))


def _scope_error(call: Call, scope: str) -> Answer | None:
    return scope_error(call.asker, call.asker.user(), scope)


def _in_form(answer: Any, call: Call, results: ToolResults) -> Steps[Result]:
    if isinstance(answer, Replay):
        if call.replay is not None and not is_stored(answer.performance):
            try:
                return results.final((yield from site(partial(call.replay, answer.operation))))
            except Exception as error:  # noqa: BLE001  it was performed: must not read as a failure
                message, about = "A replay failed.", answer.operation_id
                log_of(logging.ERROR, message, operation_id=about, error=error)
                answer = PlainlyPerformed(answer.operation_id)
        else:
            return of_performance(answer, results)
    kind = type(answer).__name__
    about = operation_id_of(answer)
    log_of(
        logging.INFO,
        "Answered with %s.",
        kind,
        operation_id=about,
        action=call.action.name,
        answer=kind,
    )
    tell_transport(call.request, answer)
    return tool_result(mcp_answer(answer, approval_sent=call.asker.carries_approval()))
