"""The door of MCP tools. It is imported when the first tool is declared: the SDK is an extra."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, TypeVar

from asgiref.sync import sync_to_async

from poppy_operations.declarations.arguments import require_scope
from poppy_operations.declarations.callables import is_async
from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.doors.arguments import Names, ignored_names
from poppy_operations.doors.mcp_asker import McpAsker
from poppy_operations.doors.mcp_content import tool_content
from poppy_operations.doors.mcp_results import (
    Result,
    ToolResults,
    of_exception,
    of_performance,
    tool_result,
    whole_error,
)
from poppy_operations.doors.mcp_servers import ServersSeen
from poppy_operations.doors.mcp_signatures import (
    ToolShape,
    reject_misused,
    reject_unfit_for_tools,
    shape_of,
)
from poppy_operations.doors.mcp_threads import own_thread
from poppy_operations.doors.mcp_transport import tell_transport
from poppy_operations.doors.placement import reject_nested
from poppy_operations.doors.plain import SiteBody, is_within, like
from poppy_operations.gate import order
from poppy_operations.gate.answers import Answer, PlainlyPerformed, Replay, SiteAnswer, Undeclared
from poppy_operations.gate.authorization import scope_error
from poppy_operations.gate.calls import Call
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
    reject_nested(action, tool, "tool")
    reject_misused(action, tool)
    shape = shape_of(action, tool)
    reject_unfit_for_tools(action, shape, terms=terms, allowed=allowed, replay=replay)
    if scope is not None:
        require_scope(f"{action.name}: scope=", scope)
    results, servers = ToolResults(shape.convert, structured=shape.structured), ServersSeen()
    door = _ToolDoor(
        action, tool, shape, results, terms, allowed, replay, scope, ignored_names(ignore)
    )

    @wraps(tool)
    async def gated(**arguments: Any) -> Result:
        asker = McpAsker.of(arguments.get(shape.context))
        if is_within(action, asker.request):
            inner: Any = tool if is_async(tool) else sync_to_async(tool)
            return results.final(await inner(**arguments))
        _reject_second(action, asker.request)
        await servers.look_at(asker.context, action, shape.named)
        async with own_thread():
            try:
                return await adrive(door.answered(door.call(asker, arguments)))
            except Exception as error:
                said = of_exception(error)
                if said is None:
                    raise
                return said

    del gated.__wrapped__  # The SDK would look at the tool itself.
    shape.show(gated, tool)
    setattr(gated, GATE, frozenset())
    setattr(gated, ACTION, action)
    result: F = gated  # type: ignore[assignment]  # the server awaits it; nobody else calls it
    return result


@dataclass(frozen=True)
class _ToolDoor:
    """A gated tool: what was declared, and the way of its calls."""

    action: DeclaredAction
    tool: Callable[..., Any]
    shape: ToolShape
    results: ToolResults
    terms: Callable[..., Any]
    allowed: Callable[..., Any] | None
    replay: Callable[..., Any] | None
    scope: str | None
    ignore: tuple[str, ...]

    def call(self, asker: McpAsker, arguments: Mapping[str, Any]) -> Call:
        request = asker.request
        named = {name: arguments[name] for name in self.shape.named if name in arguments}
        hide_our_frames(request)
        call = Call(
            action=self.action,
            asker=asker,
            results=self.results,
            request=request,
            content=partial(tool_content, asker, self.action.name, self.shape, self.ignore),
            terms=like(self.terms, partial(self.terms, request, **named)),
            body=SiteBody(self.tool).call(request, partial(self.tool, **arguments)),
            interface=interfaces.MCP,
            ignore=self.ignore,
        )
        if self.allowed is not None:
            call.allowed = like(self.allowed, partial(self.allowed, request, **named))
        if self.replay is not None:
            call.replay = like(self.replay, partial(self.replay, request))
        return call

    def answered(self, call: Call) -> Steps[Result]:
        """Take a call through the gate, and make a result of its answer."""
        answer: Answer | None = None
        if self.scope is not None:
            try:
                answer = yield from deciding(partial(self.missing_scope, call, self.scope))
            except Busy as error:
                answer = order.busy(call, error)
        if answer is None:
            answer = (yield from order.request(call)).answer
        if isinstance(answer, SiteAnswer):
            return self.results.said(answer.result)
        if isinstance(answer, Undeclared) and answer.result is not None:
            return self.results.said(answer.result)
        if isinstance(answer, Replay):
            return (yield from self.again(answer, call))
        return self.told(answer, call)

    def missing_scope(self, call: Call, scope: str) -> Answer | None:
        return scope_error(call.asker, call.asker.user(), scope)

    def again(self, answer: Replay, call: Call) -> Steps[Result]:
        if call.replay is None or is_stored(answer.performance):
            return of_performance(answer, self.results)
        try:
            return self.results.final((yield from site(partial(call.replay, answer.operation))))
        except Exception as error:  # noqa: BLE001  it was performed: must not read as a failure (7)
            message, about = "A replay failed.", answer.operation_id
            log_of(logging.ERROR, message, operation_id=about, action=self.action.name, error=error)
            return self.told(PlainlyPerformed(about), call)

    def told(self, answer: Any, call: Call) -> Result:
        kind, about = type(answer).__name__, operation_id_of(answer)
        message, action = "Answered with %s.", self.action.name
        log_of(logging.INFO, message, kind, operation_id=about, action=action, answer=kind)
        members = mcp_answer(answer, approval_sent=call.asker.carries_approval())
        if tell_transport(call.request, answer):
            raise whole_error(members)
        return tool_result(members)


def _reject_second(action: DeclaredAction, request: Any) -> None:
    if getattr(request, _CAME, False):
        message = (
            f"{action.name}: this call of a tool has come to a gate before. One call performs one "
            "action: put both into the terms of one."
        )
        raise RuntimeError(message)
    setattr(request, _CAME, True)
