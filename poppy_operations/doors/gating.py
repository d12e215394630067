"""The way from a gated view through the gate and back, the same for every kind of view."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar

from django.http import HttpResponseBase

from poppy_operations.declarations.callables import is_async
from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.doors.arguments import KNOWN_METHODS, named_methods
from poppy_operations.doors.arguments import reject_async as reject_async
from poppy_operations.doors.placement import reject_misuse as reject_misuse
from poppy_operations.gate import order
from poppy_operations.gate.answers import Answered, PlainlyPerformed, Replay, SiteAnswer
from poppy_operations.gate.calls import Call
from poppy_operations.gate.sync_and_async import Steps, adrive, database, drive, site
from poppy_operations.gated_handlers import ACTION, GATE
from poppy_operations.logs import log_of
from poppy_operations.responses import respond
from poppy_operations.responses.replays import is_stored
from poppy_operations.sessions.reports import hide_our_frames

F = TypeVar("F", bound=Callable[..., Any])


class GatedMethods(frozenset[str]):
    """The methods behind the gate: those that are named, and every one that nobody thought of.

    A view that shows its form on GET and acts on everything else acts on ``MOVE`` as well.
    """

    def __contains__(self, method: object) -> bool:
        return super().__contains__(method) or method not in KNOWN_METHODS


def answered(call: Call) -> Steps[HttpResponseBase]:
    """Take a call through the gate, and put its answer into the interface's form."""
    answered_by_gate = yield from order.request(call)
    return (yield from in_form(answered_by_gate, call))


def in_form(answered_by_gate: Answered, call: Call) -> Steps[HttpResponseBase]:
    """Put an answer into the form of the interface that the request came through."""
    answer = answered_by_gate.answer
    if isinstance(answer, SiteAnswer):
        result: HttpResponseBase = answer.result
        return result
    if isinstance(answer, Replay) and call.replay is not None and not is_stored(answer.performance):
        try:
            return (yield from _replayed_by_site(call, partial(call.replay, answer.operation)))
        except Exception as error:  # noqa: BLE001  it was performed: must not read as a failure (7)
            log_of(
                logging.ERROR,
                "A replay failed.",
                operation_id=answer.operation_id,
                action=call.action.name,
                error=error,
                request=call.request,
            )
            answer = PlainlyPerformed(answer.operation_id)
    form = partial(
        respond, answer, call.request, answered_by_gate.interface, action=call.action.name
    )
    return (yield from database(form))


def _replayed_by_site(call: Call, replay: Callable[[], Any]) -> Steps[HttpResponseBase]:
    """The answer that ``replay=`` makes again, rendered now: a later fault reads as a failure."""
    again: object = yield from site(replay)
    if not isinstance(again, HttpResponseBase):
        message = f"{call.action.name}: replay= returns a response, not {type(again).__name__}."
        raise TypeError(message)
    final: HttpResponseBase = yield from site(partial(call.results.final, again))
    return final


def behind_the_gate(
    view: F,
    call_of: Callable[[tuple[Any, ...], dict[str, Any]], Call | None],
    steps_of: Callable[[Call], Steps[HttpResponseBase]],
    *,
    action: DeclaredAction,
    methods: frozenset[str],
) -> F:
    """Wrap a view, sync or async, so that its calls go through the gate.

    ``call_of`` gives the call of a request, or ``None`` if the view answers it without the gate.
    """
    if is_async(view):

        @wraps(view)
        async def agated(*args: Any, **kwargs: Any) -> Any:
            call = _reported_without_terms(call_of(args, kwargs))
            return await (view(*args, **kwargs) if call is None else adrive(steps_of(call)))

        gated: Any = agated
    else:

        @wraps(view)
        def sgated(*args: Any, **kwargs: Any) -> Any:
            call = _reported_without_terms(call_of(args, kwargs))
            return view(*args, **kwargs) if call is None else drive(steps_of(call))

        gated = sgated
    setattr(gated, GATE, methods)
    setattr(gated, ACTION, action)
    result: F = gated
    return result


def _reported_without_terms(call: Call | None) -> Call | None:
    if call is not None:
        hide_our_frames(call.request)
    return call


def methods_of(methods: object) -> GatedMethods:
    """The gated methods, in upper case. HEAD comes with GET, by which Django answers it."""
    named = named_methods(methods)
    return GatedMethods(named | {"HEAD"} if "GET" in named else named)
