"""One function, one order, every door: what happens to a request for a gated action."""

from __future__ import annotations

from functools import partial

from poppy_operations.gate.answers import Answer, Refused, SiteAnswer
from poppy_operations.gate.approvals import read_approval
from poppy_operations.gate.callers import Caller, Visitor, who_asks
from poppy_operations.gate.calls import Call, denied
from poppy_operations.gate.rounds import Visit, busy, rounds, transacted, ungated
from poppy_operations.gate.sync_and_async import Steps, deciding
from poppy_operations.lifecycle.durable import Busy


def passage(call: Call) -> Steps[Answer]:
    """Take one request through the gate. Exceptions of the site's own code pass unchanged."""
    try:
        caller = yield from deciding(partial(who_asks, call))
        if isinstance(caller, Refused):
            return caller
        if isinstance(caller, Visitor):
            return (yield from transacted(call, ungated(call)))
        return (yield from _agent(call, caller))
    except Busy as error:
        return busy(call, error)


def _agent(call: Call, caller: Caller) -> Steps[Answer]:
    refusal = yield from transacted(call, denied(call))
    if refusal is not None:
        return SiteAnswer(refusal)
    header = None if caller.on_website else call.approval_header
    statement = read_approval(header)
    if isinstance(statement, Refused):
        return statement
    return (yield from rounds(Visit(call, caller, header is not None, statement)))
