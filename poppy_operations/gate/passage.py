"""One function, one order, every door: what happens to a request for a gated action."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeVar

from poppy_operations.browser.atomic import switched_off_aliases
from poppy_operations.declarations import CurrentOperation, DeclaredAction, Terms
from poppy_operations.gate.answers import Answer, Refused, SiteAnswer, StillPerforming, Undeclared
from poppy_operations.gate.approvals import (
    checks_1_and_2,
    decline,
    declined_before,
    is_named,
    read_approval,
)
from poppy_operations.gate.asking import Ask, ask, ask_under_way
from poppy_operations.gate.calls import Call, Wanted
from poppy_operations.gate.callers import Caller, Visitor, who_asks
from poppy_operations.gate.reading import (
    has_record,
    is_expired,
    is_in_use,
    live_revisions,
)
from poppy_operations.gate.running import Lost, OtherTerms, Outcome, Run, in_transactions, perform
from poppy_operations.gate.steps import Steps, database, site
from poppy_operations.lifecycle import performing
from poppy_operations.lifecycle.approving import stated
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.models import Operation, Revision
from poppy_operations.protocol.approval import ApprovalStatement

logger = logging.getLogger("poppy_operations")

T = TypeVar("T")
ROUNDS = 4
BUSY = Refused("temporarily_unavailable", headers={"Retry-After": "1"})


def passage(call: Call) -> Steps[Answer]:
    """Take one request through the gate. Exceptions of the site's own code pass unchanged."""
    try:
        caller = yield from database(partial(who_asks, call))
        if isinstance(caller, Refused):
            return caller
        if isinstance(caller, Visitor):
            return (yield from _transacted(call, _ungated(call)))
        return (yield from _agent(call, caller))
    except Busy:
        return _busy(call)


def _transacted(call: Call, steps: Steps[T]) -> Steps[T]:
    return (yield from in_transactions(switched_off_aliases(call.request), steps))


def _ungated(call: Call) -> Steps[Answer]:
    """The site's view, as if this app were not there, with the terms at hand."""
    denied = yield from site(call.allowed)
    if denied is not None:
        return SiteAnswer(denied)
    terms = yield from site(call.terms)
    if not isinstance(terms, Terms):
        return SiteAnswer(terms)
    return (yield from _run_ungated(call, terms))


def _run_ungated(call: Call, terms: Terms) -> Steps[Answer]:
    current = CurrentOperation.without_id(call.action.name, terms)
    response = yield from site(partial(call.body, current))
    return SiteAnswer(response)


@dataclass
class _Visit:
    """What one agent's request has shown so far. ``looked``: checks 1 and 2 were just made."""

    call: Call
    caller: Caller
    header: bool = False
    statement: ApprovalStatement | None = None
    named: Revision | None = None
    rows: Sequence[Revision] | None = None
    terms: Terms | None = None
    looked: bool = False


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
            return (yield from _ungated(call))
        visit = _Visit(call, self.caller, rows=self.rows, looked=True)
        try:
            return (yield from _rounds(visit))
        except Busy:
            return _busy(call)


def entrance(call: Call, remember: Callable[[Entered], None]) -> Steps[Answer]:
    """Take a gated handler's request up to the handler, which is the call's ``body``.

    Who asks, ``allowed`` and checks 1 and 2 come before the handler validates anything. What was
    found is remembered for ``run``, which the handler calls. Serves browsers only.
    """
    try:
        caller = yield from database(partial(who_asks, call))
        if isinstance(caller, Refused):
            return caller
        if isinstance(caller, Visitor):
            remember(Entered(call.action, caller, call.now))
            return (yield from _transacted(call, _handled(call)))
        if not caller.on_website:
            logger.error(
                "action.run() serves browsers; a Session's requests take @action.api.",
                extra={"action": call.action.name},
            )
            return Refused("invalid_request")
        denied = yield from _transacted(call, site(call.allowed))
        if denied is not None:
            return SiteAnswer(denied)
        visit = _Visit(call, caller)
        early = yield from database(partial(_performed_or_performing, visit))
        if early is not None:
            return early
        remember(Entered(call.action, caller, call.now, visit.rows))
        response = yield from site(partial(call.body, _nothing_yet(call)))
        return SiteAnswer(response)
    except Busy:
        return _busy(call)


def _handled(call: Call) -> Steps[Answer]:
    denied = yield from site(call.allowed)
    if denied is not None:
        return SiteAnswer(denied)
    response = yield from site(partial(call.body, _nothing_yet(call)))
    return SiteAnswer(response)


def _nothing_yet(call: Call) -> CurrentOperation:
    return CurrentOperation(call.action.name, {})


def _busy(call: Call) -> Refused:
    logger.warning(
        "The database was in the way; nothing was performed.",
        exc_info=True,
        extra={"action": call.action.name},
    )
    return BUSY


def _agent(call: Call, caller: Caller) -> Steps[Answer]:
    denied = yield from _transacted(call, site(call.allowed))
    if denied is not None:
        return SiteAnswer(denied)
    header = None if caller.on_website else call.approval_header
    statement = read_approval(header)
    if isinstance(statement, Refused):
        return statement
    return (yield from _rounds(_Visit(call, caller, header is not None, statement)))


def _rounds(visit: _Visit) -> Steps[Answer]:
    for _ in range(ROUNDS):
        outcome = yield from _round(visit)
        if not isinstance(outcome, Lost):
            return outcome
        visit.looked = False
    message = "The claim was lost again and again."
    raise Busy(message)


def _round(visit: _Visit) -> Steps[Answer | Lost]:
    if not visit.looked:
        early = yield from database(partial(_performed_or_performing, visit))
        if early is not None:
            return early
    if visit.terms is None:
        terms = yield from _transacted(visit.call, site(visit.call.terms))
        if not isinstance(terms, Terms):
            return SiteAnswer(terms)
        visit.terms = terms
    wanted = yield from database(partial(Wanted.of, visit.call, visit.terms))
    gated = yield from database(partial(_is_gated, visit, wanted))
    if not gated:
        return (yield from _transacted(visit.call, _run_ungated(visit.call, visit.terms)))
    outcome = yield from _approved(visit, wanted)
    if isinstance(outcome, OtherTerms):
        visit.terms = outcome.terms
        wanted = yield from database(partial(Wanted.of, visit.call, outcome.terms))
        visit.rows = None
        outcome = None
    if outcome is not None:
        return outcome
    return (yield from database(partial(_asked, visit, wanted)))


def _performed_or_performing(visit: _Visit) -> Answer | None:
    """Checks 1 and 2, before the site validates: a performed action changes what it says."""
    call, caller = visit.call, visit.caller
    if caller.owner is None:
        return None
    if caller.on_website:
        rows = visit.rows = _picture(call, caller)
        in_use = [row for row in rows if is_in_use(row) and row.raw_digest in call.raw_digests]
        return ask_under_way(call, caller, in_use[0], rows) if in_use else None
    if visit.statement is None:
        return None
    found = checks_1_and_2(call, caller, visit.statement)
    if found is None or isinstance(found, Revision):
        visit.named = found
        return None
    return found


def _picture(call: Call, caller: Caller) -> Sequence[Revision]:
    """The owner's live revisions, once every attempt that lapsed has been freed."""
    assert caller.owner is not None  # noqa: S101  callers have asked; for the type checker
    rows = live_revisions(caller.owner, call.now)
    lapsed = {
        row.operation_id: row.operation
        for row in rows
        if performing.is_lapsed(row.operation, call.now)
    }
    for operation in lapsed.values():
        performing.free(operation, call.now)
    return live_revisions(caller.owner, call.now) if lapsed else rows


def _is_gated(visit: _Visit, wanted: Wanted) -> bool:
    """Whether the request needs approval, or has met an operation that it must go through."""
    caller = visit.caller
    if wanted.terms.needed or visit.header:
        return True
    if caller.owner is None:
        return False
    asked = Ask(visit.call, caller, caller.owner, wanted)
    slot = asked.slot
    rows = live_revisions(caller.owner, visit.call.now, slot)
    return any(
        (has_record(row) and asked.is_same(row) and not is_expired(row, visit.call.now))
        or (row.operation.slot == slot and row.operation.state == Operation.State.PERFORMING)
        for row in rows
    )


def _approved(visit: _Visit, wanted: Wanted) -> Steps[Outcome | None]:
    """Check 3, then decline or perform; ``None`` where there is no approval for the request."""
    if visit.caller.owner is None:
        return None
    if visit.caller.on_website:
        return (yield from _recorded(visit, wanted))
    return (yield from _sent(visit, wanted))


def _sent(visit: _Visit, wanted: Wanted) -> Steps[Outcome | None]:
    call, caller, statement, named = visit.call, visit.caller, visit.statement, visit.named
    if statement is None or named is None or caller.owner is None:
        return None
    if not (is_named(named, statement, call.now) and _ask_of(visit, wanted).is_same(named)):
        return None
    decided = yield from database(partial(_declined, visit, named, statement))
    if decided is not None:
        return decided
    approval = stated(statement, named, sid=caller.sid, now=call.now)
    return (yield from perform(Run.of(call, caller, named, approval, statement)))


def _declined(visit: _Visit, named: Revision, statement: ApprovalStatement) -> Answer | Lost | None:
    before = declined_before(named, statement)
    if before is not None:
        return before
    decided = decline(named, statement, sid=visit.caller.sid, now=visit.call.now)
    if isinstance(decided, bool):
        return Lost() if decided else None
    return decided


def _recorded(visit: _Visit, wanted: Wanted) -> Steps[Outcome | None]:
    """The recorded approvals that match, first recorded first; a lost claim takes the next."""
    call, caller = visit.call, visit.caller
    asked = _ask_of(visit, wanted)
    lost = False
    for revision in visit.rows or ():
        if not _matches(revision, asked):
            continue
        run = Run.of(call, caller, revision, revision.record, None)
        outcome = yield from perform(run)
        if isinstance(outcome, StillPerforming):
            return (yield from database(partial(_still_on_website, visit, revision, outcome)))
        if not isinstance(outcome, Lost):
            return outcome
        lost = True
    return Lost() if lost else None


def _still_on_website(visit: _Visit, revision: Revision, outcome: StillPerforming) -> Answer:
    """What a browser gets while nobody may say that its action failed: a further reference."""
    owner = visit.caller.owner
    rows = [] if owner is None else live_revisions(owner, visit.call.now)
    in_use = [row for row in rows if row.pk == revision.pk]
    return ask_under_way(visit.call, visit.caller, in_use[0], rows) if in_use else outcome


def _matches(revision: Revision, asked: Ask) -> bool:
    return (
        has_record(revision)
        and revision.operation.state == Operation.State.OPEN
        and not is_expired(revision, asked.call.now)
        and asked.is_same(revision)
    )


def _ask_of(visit: _Visit, wanted: Wanted) -> Ask:
    assert visit.caller.owner is not None  # noqa: S101  callers have asked; for the type checker
    named = "" if visit.statement is None else visit.statement.revision
    return Ask(visit.call, visit.caller, visit.caller.owner, wanted, named)


def _asked(visit: _Visit, wanted: Wanted) -> Answer:
    if visit.caller.owner is None:
        refusal = visit.caller.refusal
        return Undeclared(None if refusal is None else refusal.response)
    asked = _ask_of(visit, wanted)
    return ask(asked, asked.slot, visit.rows)
