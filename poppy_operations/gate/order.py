"""The one order of a request for a gated action (design: "The gate").

There are two ways in. ``request`` is for a door that calls the action's body. ``enter`` and
``go_on`` are for a handler that validates by itself, and asks for the action later.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from poppy_operations.declarations.current import CurrentOperation
from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.gate.answers import (
    BUSY,
    INVALID_REQUEST,
    Answer,
    Answered,
    ErrorAnswer,
    SiteAnswer,
)
from poppy_operations.gate.approvals import read_approval
from poppy_operations.gate.callers import Caller, Visitor, who_asks
from poppy_operations.gate.calls import Call, denied
from poppy_operations.gate.decision import Findings, decided, performed_or_performing
from poppy_operations.gate.performing.queued import NotQueued
from poppy_operations.gate.sync_and_async import Steps, deciding, site
from poppy_operations.gate.transactions import transacted
from poppy_operations.gate.ungated import ungated
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.logs import log_of
from poppy_operations.models import Revision

Way = Callable[[Call, Caller | Visitor], Steps[Answer]]


def request(call: Call) -> Steps[Answered]:
    """Take one request through the gate. Exceptions of the site's own code pass unchanged."""
    return (yield from _in_order(call, _to_the_body))


def _in_order(call: Call, way: Way) -> Steps[Answered]:
    """Say who asks, go the way, and name the interface in whose form the answer is given."""
    interface = call.interface
    try:
        caller = yield from deciding(partial(who_asks, call))
        if isinstance(caller, ErrorAnswer):
            return Answered(caller, interface)
        if isinstance(caller, Caller):
            interface = caller.interface
        answer = yield from way(call, caller)
    except Busy as error:
        answer = busy(call, error)
    return Answered(answer, interface)


def _to_the_body(call: Call, caller: Caller | Visitor) -> Steps[Answer]:
    if call.open_methods is not None:
        # A view may act on a method that it does not expect. People may use it all the same.
        return (yield from _handled(call)) if isinstance(caller, Visitor) else _closed(call)
    if isinstance(caller, Visitor):
        return (yield from transacted(call.transactions, ungated(call)))
    denial = yield from transacted(call.transactions, denied(call))
    if denial is not None:
        return SiteAnswer(denial)
    if caller.interface.approvals_recorded:
        return (yield from decided(Findings(call, caller)))
    statement = read_approval(call.asker)
    if isinstance(statement, ErrorAnswer):
        return statement
    sent = call.asker.carries_approval()
    return (yield from decided(Findings(call, caller, sent=sent, statement=statement)))


def _closed(call: Call) -> ErrorAnswer:
    allow = ", ".join(call.open_methods or ())
    return ErrorAnswer("invalid_request", headers={"Allow": allow}, status=405)


def busy(call: Call, error: Busy) -> ErrorAnswer:
    """The answer if the database or the queue cannot be used; a database's fault is logged."""
    if not isinstance(error, NotQueued):
        message = "The database is locked, unreachable or read-only; nothing was performed."
        log_of(
            logging.WARNING,
            message,
            action=call.action.name,
            error=error,
            request=call.request,
        )
    return BUSY


@dataclass(frozen=True)
class Entered:
    """What the request of a gated handler has shown before the site validates it."""

    action: DeclaredAction
    caller: Caller | Visitor
    now: datetime
    rows: Sequence[Revision] | None = None


def enter(call: Call, remember: Callable[[Entered], None]) -> Steps[Answered]:
    """Take a gated handler's request up to the handler, which is the call's ``body``.

    Who asks, ``allowed`` and checks 1 and 2 come before the handler validates anything. What they
    found is remembered for ``go_on``. Serves only interfaces that record approvals: a handler
    cannot answer an approval that was sent with the request.
    """
    return (yield from _in_order(call, partial(_to_the_handler, remember)))


def _to_the_handler(
    remember: Callable[[Entered], None], call: Call, caller: Caller | Visitor
) -> Steps[Answer]:
    if isinstance(caller, Visitor):
        remember(Entered(call.action, caller, call.now))
        return (yield from transacted(call.transactions, _denied_or_handled(call)))
    if not caller.interface.approvals_recorded:
        message = "action.run() serves browsers; requests in a Session need @action.api."
        log_of(logging.ERROR, message, action=call.action.name)
        return INVALID_REQUEST
    denial = yield from transacted(call.transactions, denied(call))
    if denial is not None:
        return SiteAnswer(denial)
    findings = Findings(call, caller)
    early = yield from deciding(partial(performed_or_performing, findings))
    if early is not None:
        return early
    remember(Entered(call.action, caller, call.now, findings.rows))
    return (yield from _handled(call))


def _denied_or_handled(call: Call) -> Steps[Answer]:
    denial = yield from denied(call)
    return (yield from _handled(call)) if denial is None else SiteAnswer(denial)


def _handled(call: Call) -> Steps[Answer]:
    nothing_yet = CurrentOperation(call.action.name, {})
    result = yield from site(partial(call.body, nothing_yet))
    return SiteAnswer(result)


def go_on(entered: Entered, call: Call) -> Steps[Answered]:
    """Take the rest of a gated handler's request through the gate, from validation on."""
    caller = entered.caller
    if isinstance(caller, Visitor):
        return Answered((yield from ungated(call)), call.interface)
    findings = Findings(call, caller, rows=entered.rows, looked=True)
    try:
        answer = yield from decided(findings)
    except Busy as error:
        answer = busy(call, error)
    return Answered(answer, caller.interface)
