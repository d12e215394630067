"""What an agent's request gets: checks, terms, and then perform or ask (steps 7 to 10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeVar

from poppy_operations.declarations.terms import Terms
from poppy_operations.gate.answers import (
    Answer,
    Lost,
    OtherTerms,
    Outcome,
    Replay,
    SiteAnswer,
    StillPerforming,
    Undeclared,
)
from poppy_operations.gate.approvals import (
    checks_1_and_2,
    declined_before,
    declined_by_policy,
    is_named,
    still_performing,
)
from poppy_operations.gate.asks import Ask
from poppy_operations.gate.callers import Caller
from poppy_operations.gate.calls import (
    TRIES,
    TRIES_BESIDE_OTHERS,
    Call,
    Wanted,
    asked_terms,
)
from poppy_operations.gate.performing import perform_approved
from poppy_operations.gate.performing.attempt import Attempt, elsewhere
from poppy_operations.gate.returning import ask, ask_under_way
from poppy_operations.gate.revisions import (
    is_in_use,
    is_told_in_part,
    is_usable,
    live_revisions,
    read_in_full,
)
from poppy_operations.gate.sync_and_async import Steps, deciding
from poppy_operations.gate.transactions import transacted
from poppy_operations.gate.ungated import perform_for_agent
from poppy_operations.lifecycle import claims
from poppy_operations.lifecycle.approving import stated
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.models import Operation, Revision
from poppy_operations.protocol.approval import ApprovalStatement
from poppy_operations.protocol.owner import Owner

T = TypeVar("T")


@dataclass
class Findings:
    """What one agent's request has shown so far.

    ``sent``: an approval came with the request, in any form. ``looked``: checks 1 and 2 were just
    made.
    """

    call: Call
    caller: Caller
    sent: bool = False
    statement: ApprovalStatement | None = None
    named: Revision | None = None
    rows: Sequence[Revision] | None = None
    terms: Terms | None = None
    looked: bool = False


def decided(findings: Findings) -> Steps[Answer]:
    """Try until there is an answer: if a claim was lost, the request is looked at again."""
    lost_to_nobody = 0
    for _ in range(TRIES_BESIDE_OTHERS):
        outcome = yield from _tried(findings)
        if not isinstance(outcome, Lost):
            return outcome
        findings.looked = False
        lost_to_nobody += not outcome.by_others
        if lost_to_nobody == TRIES:
            break
    message = "The claim was lost again and again."
    raise Busy(message)


def _tried(findings: Findings) -> Steps[Answer | Lost]:
    if not findings.looked:
        early = yield from deciding(partial(performed_or_performing, findings))
        if early is not None:
            return early
    if findings.terms is None:
        terms = yield from transacted(findings.call.transactions, asked_terms(findings.call))
        if not isinstance(terms, Terms):
            return SiteAnswer(terms)
        findings.terms = terms
    wanted = yield from deciding(partial(Wanted.of, findings.call, findings.terms))
    gated = yield from deciding(partial(_needs_approval, findings, wanted))
    if not gated:
        return (yield from perform_for_agent(findings.call, findings.terms))
    outcome = yield from _approved(findings, wanted)
    if isinstance(outcome, OtherTerms):
        findings.terms = outcome.terms
        return Lost(by_others=False)  # These terms may have an approval of their own.
    if outcome is not None:
        return outcome
    return (yield from deciding(partial(_asked, findings, wanted)))


def performed_or_performing(findings: Findings) -> Answer | None:
    """Make checks 1 and 2 before the site validates: a performed action may no longer be valid."""
    call, caller = findings.call, findings.caller
    call.prepare()
    if caller.owner is None:
        return None
    if caller.interface.approvals_recorded:
        return _repeated(findings, caller.owner)
    if findings.statement is None:
        return None
    found = checks_1_and_2(call, caller, findings.statement)
    if found is None or isinstance(found, Revision):
        findings.named = found
        return None
    return found


def _repeated(findings: Findings, owner: Owner) -> Answer | None:
    """The answer if this very request is being performed already, else ``None``."""
    call, caller = findings.call, findings.caller
    while True:
        rows = findings.rows = _picture(call, owner)
        in_use = [row for row in rows if is_in_use(row) and call.is_sent_again(row, owner)]
        if not in_use:
            return None
        if not caller.interface.repeated_while_performing:
            return still_performing(in_use[0].operation)
        answer = ask_under_way(call, caller, in_use[0], rows)
        if not isinstance(answer, Lost):
            return answer  # Otherwise an attempt has ended, which cannot go on for ever.


def _picture(call: Call, owner: Owner, slots: Sequence[str] = ()) -> Sequence[Revision]:
    """The owner's live revisions, after every lapsed attempt has been freed."""
    rows = live_revisions(owner, call.now, slots)
    lapsed = {
        row.operation_id: row.operation for row in rows if claims.is_lapsed(row.operation, call.now)
    }
    for operation in lapsed.values():
        claims.free(operation, call.now)
    return live_revisions(owner, call.now, slots) if lapsed else rows


def _needs_approval(findings: Findings, wanted: Wanted) -> bool:
    """Whether the request needs approval, or an operation of the same action demands it."""
    caller = findings.caller
    if wanted.terms.needed or findings.sent:
        return True
    if caller.owner is None:
        return False
    asked = Ask(findings.call, caller, caller.owner, wanted)
    rows = _picture(findings.call, caller.owner, asked.slots)
    return any(asked.is_same_action(row) and _binds(row, findings.call.now) for row in rows)


def _binds(revision: Revision, now: datetime) -> bool:
    """Whether an approval may still perform the revision, whatever the terms are by now.

    The agent was told to have the request made once more, and the terms may become the approved
    ones again. Until then, the action must not be performed for a request that needs no approval.
    """
    if revision.operation.state == Operation.State.PERFORMING:
        return True
    return is_usable(revision, now)


def _approved(findings: Findings, wanted: Wanted) -> Steps[Outcome | None]:
    """Check 3, then decline or perform; ``None`` if there is no approval for the request."""
    owner = findings.caller.owner
    if owner is None:
        return None
    asked = _ask_of(findings, owner, wanted)
    if findings.caller.interface.approvals_recorded:
        return (yield from _recorded(findings, asked))
    return (yield from _sent(findings, asked))


def _sent(findings: Findings, asked: Ask) -> Steps[Outcome | None]:
    call, caller, statement, named = (
        findings.call,
        findings.caller,
        findings.statement,
        findings.named,
    )
    if statement is None or named is None:
        return None
    if not (is_named(named, statement, call.now) and asked.is_same(named)):
        return None
    declined = yield from deciding(partial(_policy_says, findings, named, statement))
    if declined is not None:
        return declined
    approval = stated(statement, named, sid=caller.sid, now=call.now)
    return (yield from perform_approved(Attempt.of(call, caller, named, approval, statement)))


def _policy_says(
    findings: Findings, named: Revision, statement: ApprovalStatement
) -> Answer | Lost | None:
    before = declined_before(named, statement)
    if before is not None:
        return before
    return declined_by_policy(named, statement, sid=findings.caller.sid, now=findings.call.now)


def _recorded(findings: Findings, asked: Ask) -> Steps[Outcome | None]:
    """Perform by the first recorded approval that matches; if its claim is lost, by the next."""
    call, caller = findings.call, findings.caller
    lost: Lost | None = None
    for revision in findings.rows or ():
        if not _matches(revision, asked):
            continue
        revision.terms = asked.wanted.terms.text  # the same, or it would not match
        if is_told_in_part(revision):
            yield from deciding(partial(read_in_full, revision))
        attempt = Attempt.of(call, caller, revision, revision.record, None)
        outcome = yield from perform_approved(attempt)
        if isinstance(outcome, StillPerforming):
            try:
                return (yield from deciding(partial(_under_way, findings, attempt, outcome)))
            except Busy:
                return outcome  # It is under way all the same; only no reference can be told.
        if not isinstance(outcome, Lost):
            return outcome
        lost = outcome
    return lost


def _under_way(findings: Findings, attempt: Attempt, outcome: StillPerforming) -> Answer:
    """The answer to a repeat while nobody may say that the action failed (AMB-13)."""
    owner = findings.caller.owner
    if not findings.caller.interface.repeated_while_performing:
        return outcome
    rows = [] if owner is None else live_revisions(owner, findings.call.now)
    in_use = [row for row in rows if row.pk == attempt.revision.pk and is_in_use(row)]
    if in_use:
        answer = ask_under_way(findings.call, findings.caller, in_use[0], rows)
        if not isinstance(answer, Lost):
            return answer
    known = elsewhere(attempt.read_again())
    return known if isinstance(known, Replay) else outcome


def _matches(revision: Revision, asked: Ask) -> bool:
    return (
        is_usable(revision, asked.call.now)
        and revision.operation.state == Operation.State.OPEN
        and asked.is_same(revision)
    )


def _ask_of(findings: Findings, owner: Owner, wanted: Wanted) -> Ask:
    named = "" if findings.statement is None else findings.statement.revision
    return Ask(findings.call, findings.caller, owner, wanted, named)


def _asked(findings: Findings, wanted: Wanted) -> Answer:
    owner = findings.caller.owner
    if owner is None:
        refusal = findings.caller.refusal
        return Undeclared(None if refusal is None else refusal.response)
    return ask(_ask_of(findings, owner, wanted), findings.rows)
