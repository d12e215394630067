"""The way in for handlers that validate first and call ``run`` later."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from poppy_operations.declarations.current import CurrentOperation
from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.gate.answers import INVALID_REQUEST, Answer, Refused, SiteAnswer
from poppy_operations.gate.callers import Caller, Visitor, who_asks
from poppy_operations.gate.calls import Call, denied
from poppy_operations.gate.rounds import (
    Visit,
    busy,
    performed_or_performing,
    rounds,
    transacted,
    ungated,
)
from poppy_operations.gate.sync_and_async import Steps, deciding, site
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.logs import log_of
from poppy_operations.models import Revision


@dataclass(frozen=True)
class Entered:
    """What the request of a gated handler has shown before the site validates it."""

    action: DeclaredAction
    caller: Caller | Visitor
    now: datetime
    rows: Sequence[Revision] | None = None

    def go_on(self, call: Call) -> Steps[Answer]:
        """Take the rest of the request through the gate, from validation on."""
        if isinstance(self.caller, Visitor):
            return (yield from ungated(call))
        visit = Visit(call, self.caller, rows=self.rows, looked=True)
        try:
            return (yield from rounds(visit))
        except Busy as error:
            return busy(call, error)


def entrance(call: Call, remember: Callable[[Entered], None]) -> Steps[Answer]:
    """Take a gated handler's request up to the handler, which is the call's ``body``.

    Who asks, ``allowed`` and checks 1 and 2 come before the handler validates anything. What was
    found is remembered for ``run``, which the handler calls. Serves browsers only.
    """
    try:
        caller = yield from deciding(partial(who_asks, call))
        if isinstance(caller, Refused):
            return caller
        if isinstance(caller, Visitor):
            remember(Entered(call.action, caller, call.now))
            return (yield from transacted(call, _handled(call)))
        if not caller.on_website:
            log_of(
                logging.ERROR,
                "action.run() serves browsers; a Session's requests take @action.api.",
                action=call.action.name,
            )
            return INVALID_REQUEST
        refusal = yield from transacted(call, denied(call))
        if refusal is not None:
            return SiteAnswer(refusal)
        visit = Visit(call, caller)
        early = yield from deciding(partial(performed_or_performing, visit))
        if early is not None:
            return early
        remember(Entered(call.action, caller, call.now, visit.rows))
        response = yield from site(partial(call.body, _nothing_yet(call)))
        return SiteAnswer(response)
    except Busy as error:
        return busy(call, error)


def _handled(call: Call) -> Steps[Answer]:
    refusal = yield from denied(call)
    if refusal is not None:
        return SiteAnswer(refusal)
    response = yield from site(partial(call.body, _nothing_yet(call)))
    return SiteAnswer(response)


def _nothing_yet(call: Call) -> CurrentOperation:
    return CurrentOperation(call.action.name, {})
