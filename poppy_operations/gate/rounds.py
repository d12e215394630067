"""The rounds of an agent's request: checks, terms, and then perform or ask."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeVar

from poppy_operations.atomic_requests import switched_off_aliases
from poppy_operations.declarations.current import CurrentOperation
from poppy_operations.declarations.outcomes import NotPerformed
from poppy_operations.declarations.terms import Terms
from poppy_operations.gate.answers import (
    BUSY,
    Answer,
    Refused,
    SiteAnswer,
    StillPerforming,
    Undeclared,
)
from poppy_operations.gate.approvals import checks_1_and_2, decline, declined_before, is_named
from poppy_operations.gate.callers import Caller
from poppy_operations.gate.calls import Call, Wanted, asked_terms, denied
from poppy_operations.gate.performing.attempt import Lost, OtherTerms, Outcome, Run, answer_of
from poppy_operations.gate.performing.external import perform_outside
from poppy_operations.gate.performing.in_database import perform_in_database
from poppy_operations.gate.performing.queued import NotQueued, perform_queued
from poppy_operations.gate.returning import Ask, ask, ask_under_way
from poppy_operations.gate.revisions import has_record, is_expired, is_in_use, live_revisions
from poppy_operations.gate.sync_and_async import Steps, database, deciding, site
from poppy_operations.gate.transactions import in_transactions, mark_for_rollback
from poppy_operations.lifecycle import claims
from poppy_operations.lifecycle.approving import stated
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.logs import log_of
from poppy_operations.models import Operation, Revision
from poppy_operations.protocol.approval import ApprovalStatement
from poppy_operations.protocol.owner import Owner

T = TypeVar("T")
ROUNDS = 4


@dataclass
class Visit:
    """What one agent's request has shown so far. ``looked``: checks 1 and 2 were just made."""

    call: Call
    caller: Caller
    header: bool = False
    statement: ApprovalStatement | None = None
    named: Revision | None = None
    rows: Sequence[Revision] | None = None
    terms: Terms | None = None
    looked: bool = False


def busy(call: Call, error: Busy) -> Refused:
    """The answer where the database or the queue was in the way, and the log of the database."""
    if not isinstance(error, NotQueued):
        message = "The database was in the way; nothing was performed."
        log_of(logging.WARNING, message, action=call.action.name, error=error)
    return BUSY


def transacted(call: Call, steps: Steps[T]) -> Steps[T]:
    """Run the site's steps in the transactions that Django would have opened for them."""
    return (yield from in_transactions(switched_off_aliases(call.request), steps))


def ungated(call: Call) -> Steps[Answer]:
    """The site's view, as if this app were not there, with the terms at hand."""
    refusal = yield from denied(call)
    if refusal is not None:
        return SiteAnswer(refusal)
    terms = yield from asked_terms(call)
    if not isinstance(terms, Terms):
        return SiteAnswer(terms)
    return (yield from run_ungated(call, terms))


def run_ungated(call: Call, terms: Terms) -> Steps[Answer]:
    """Run the view for a request that needs no approval."""
    current = CurrentOperation.without_id(call.action.name, terms)
    try:
        response = yield from site(partial(call.body, current))
    except NotPerformed as said:
        yield from database(mark_for_rollback)
        response = answer_of(said)
    return SiteAnswer(response)


def rounds(visit: Visit) -> Steps[Answer]:
    """Go round until there is an answer: a claim that was lost is looked at again."""
    for _ in range(ROUNDS):
        outcome = yield from _round(visit)
        if not isinstance(outcome, Lost):
            return outcome
        visit.looked = False
    message = "The claim was lost again and again."
    raise Busy(message)


def _round(visit: Visit) -> Steps[Answer | Lost]:
    if not visit.looked:
        early = yield from deciding(partial(performed_or_performing, visit))
        if early is not None:
            return early
    if visit.terms is None:
        terms = yield from transacted(visit.call, asked_terms(visit.call))
        if not isinstance(terms, Terms):
            return SiteAnswer(terms)
        visit.terms = terms
    wanted = yield from deciding(partial(Wanted.of, visit.call, visit.terms))
    gated = yield from deciding(partial(_is_gated, visit, wanted))
    if not gated:
        return (yield from transacted(visit.call, run_ungated(visit.call, visit.terms)))
    outcome = yield from _approved(visit, wanted)
    if isinstance(outcome, OtherTerms):
        visit.terms = outcome.terms
        return Lost()  # These terms may have an approval of their own.
    if outcome is not None:
        return outcome
    return (yield from deciding(partial(_asked, visit, wanted)))


def performed_or_performing(visit: Visit) -> Answer | None:
    """Checks 1 and 2, before the site validates: a performed action changes what it says."""
    call, caller = visit.call, visit.caller
    if caller.owner is None:
        return None
    if caller.on_website:
        rows = visit.rows = _picture(call, caller.owner)
        in_use = [row for row in rows if is_in_use(row) and row.raw_digest in call.raw_digests]
        return ask_under_way(call, caller, in_use[0], rows) if in_use else None
    if visit.statement is None:
        return None
    found = checks_1_and_2(call, caller, visit.statement)
    if found is None or isinstance(found, Revision):
        visit.named = found
        return None
    return found


def _picture(call: Call, owner: Owner, slot: str | None = None) -> Sequence[Revision]:
    """The owner's live revisions, once every attempt that lapsed has been freed."""
    rows = live_revisions(owner, call.now, slot)
    lapsed = {
        row.operation_id: row.operation for row in rows if claims.is_lapsed(row.operation, call.now)
    }
    for operation in lapsed.values():
        claims.free(operation, call.now)
    return live_revisions(owner, call.now, slot) if lapsed else rows


def _is_gated(visit: Visit, wanted: Wanted) -> bool:
    """Whether the request needs approval, or has met an operation that it must go through."""
    caller = visit.caller
    if wanted.terms.needed or visit.header:
        return True
    if caller.owner is None:
        return False
    asked = Ask(visit.call, caller, caller.owner, wanted)
    rows = _picture(visit.call, caller.owner, asked.slot)
    return any(asked.is_same_action(row) and _binds(row, visit.call.now) for row in rows)


def _binds(revision: Revision, now: datetime) -> bool:
    """Whether an approval may still perform it, whatever the terms are by now.

    As long as its agent is told to have the request made once more, and the terms may be the
    approved ones again, the action must not be performed by the way.
    """
    if revision.operation.state == Operation.State.PERFORMING:
        return True
    return has_record(revision) and not is_expired(revision, now)


def _approved(visit: Visit, wanted: Wanted) -> Steps[Outcome | None]:
    """Check 3, then decline or perform; ``None`` where there is no approval for the request."""
    owner = visit.caller.owner
    if owner is None:
        return None
    asked = _ask_of(visit, owner, wanted)
    if visit.caller.on_website:
        return (yield from _recorded(visit, asked))
    return (yield from _sent(visit, asked))


def _sent(visit: Visit, asked: Ask) -> Steps[Outcome | None]:
    call, caller, statement, named = visit.call, visit.caller, visit.statement, visit.named
    if statement is None or named is None:
        return None
    if not (is_named(named, statement, call.now) and asked.is_same(named)):
        return None
    decided = yield from deciding(partial(_declined, visit, named, statement))
    if decided is not None:
        return decided
    approval = stated(statement, named, sid=caller.sid, now=call.now)
    return (yield from perform(Run.of(call, caller, named, approval, statement)))


def _declined(visit: Visit, named: Revision, statement: ApprovalStatement) -> Answer | Lost | None:
    before = declined_before(named, statement)
    if before is not None:
        return before
    decided = decline(named, statement, sid=visit.caller.sid, now=visit.call.now)
    if isinstance(decided, bool):
        return Lost() if decided else None
    return decided


def _recorded(visit: Visit, asked: Ask) -> Steps[Outcome | None]:
    """The recorded approvals that match, first recorded first; a lost claim takes the next."""
    call, caller = visit.call, visit.caller
    lost = False
    for revision in visit.rows or ():
        if not _matches(revision, asked):
            continue
        run = Run.of(call, caller, revision, revision.record, None)
        outcome = yield from perform(run)
        if isinstance(outcome, StillPerforming):
            try:
                return (yield from deciding(partial(_still_on_website, visit, revision, outcome)))
            except Busy:
                return outcome  # Under way all the same; only its reference cannot be told.
        if not isinstance(outcome, Lost):
            return outcome
        lost = True
    return Lost() if lost else None


def perform(run: Run) -> Steps[Outcome]:
    """Perform one approved revision, unless another request has the claim."""
    if run.call.action.background:
        return (yield from perform_queued(run))
    if run.call.action.effects == "database":
        return (yield from perform_in_database(run))
    return (yield from perform_outside(run))


def _still_on_website(visit: Visit, revision: Revision, outcome: StillPerforming) -> Answer:
    """What a browser gets while nobody may say that its action failed: a further reference."""
    owner = visit.caller.owner
    rows = [] if owner is None else live_revisions(owner, visit.call.now)
    in_use = [row for row in rows if row.pk == revision.pk and is_in_use(row)]
    return ask_under_way(visit.call, visit.caller, in_use[0], rows) if in_use else outcome


def _matches(revision: Revision, asked: Ask) -> bool:
    return (
        has_record(revision)
        and revision.operation.state == Operation.State.OPEN
        and not is_expired(revision, asked.call.now)
        and asked.is_same(revision)
    )


def _ask_of(visit: Visit, owner: Owner, wanted: Wanted) -> Ask:
    named = "" if visit.statement is None else visit.statement.revision
    return Ask(visit.call, visit.caller, owner, wanted, named)


def _asked(visit: Visit, wanted: Wanted) -> Answer:
    owner = visit.caller.owner
    if owner is None:
        refusal = visit.caller.refusal
        return Undeclared(None if refusal is None else refusal.response)
    return ask(_ask_of(visit, owner, wanted), visit.rows)
