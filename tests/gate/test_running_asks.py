"""What an ask finds in its slot at the last moment."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.http import HttpRequest

from poppy_operations.declarations.outcomes import Refusal
from poppy_operations.declarations.terms import Each
from poppy_operations.doors.http_asker import HttpAsker
from poppy_operations.gate import returning as gate_asking
from poppy_operations.gate.answers import (
    ApprovalRequired,
    ErrorAnswer,
    Lost,
    StillPerforming,
    Undeclared,
)
from poppy_operations.gate.asks import Ask
from poppy_operations.gate.callers import Caller
from poppy_operations.gate.calls import Call, Wanted
from poppy_operations.gate.comparing import RequestContent
from poppy_operations.gate.returning import ask, ask_under_way
from poppy_operations.gate.revisions import is_in_use, live_revisions
from poppy_operations.lifecycle import asking
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.models import Operation, Revision
from poppy_operations.protocol.canonical import digest
from poppy_operations.protocol.interfaces import interface_called
from tests.configuring import configure
from tests.gate.runs import OTHER_TERMS, TERMS, Trial
from tests.lifecycle.rows import ASKED, MINE, NOW, OWNER, begun, returned

pytestmark = [pytest.mark.django_db, pytest.mark.database]
SLOT = digest("slot")


def an_ask(attempt: Trial, slot: str = SLOT, **caller: Any) -> Ask:
    """The ask of the request that an attempt was made for."""
    job = attempt.run.job
    call = Call(
        action=job.action,
        asker=HttpAsker(HttpRequest()),
        results=job.results,
        terms=job.terms,
        body=job.body,
        content=lambda: RequestContent({}, {}, {}),
        now=NOW,
    )
    interface = interface_called(attempt.interface)
    asked = Ask(call, Caller(interface, OWNER, **caller), OWNER, Wanted.of(call, TERMS))
    asked.__dict__.update(slots=[slot], content_digests=[digest("content")])
    return asked


def test_each_ask_of_its_own_has_one_slot_and_no_other_asks() -> None:
    one = an_ask(Trial())
    each = replace(one, wanted=Wanted.of(one.call, replace(TERMS, same_action=Each)))
    assert each.slots == each.slots
    assert replace(each).slots != each.slots
    assert replace(one).slots == replace(one).slots


def test_an_ask_for_what_is_waiting_gets_the_same_revision() -> None:
    attempt = Trial()
    answer = ask(an_ask(attempt))
    assert isinstance(answer, ApprovalRequired)
    assert answer.operation.revision == attempt.run.revision.revision


@pytest.mark.requirement("OPS-7-08")
def test_an_ask_for_what_is_performing_is_answered_as_performing() -> None:
    attempt = Trial()
    begun(attempt.run.revision)
    answer = ask(an_ask(attempt))
    assert answer == StillPerforming(attempt.operation.operation_id, 2)
    assert Revision.objects.count() == 1


def test_an_ask_that_meets_a_lapsed_lease_frees_it_first() -> None:
    attempt = Trial()
    begun(attempt.run.revision, now=NOW - timedelta(hours=1))
    answer = ask(an_ask(attempt))
    assert isinstance(answer, ApprovalRequired)
    assert answer.operation.operation_id == attempt.operation.operation_id
    assert attempt.state == "open"


def test_on_the_website_an_ask_for_what_is_performing_is_a_further_revision() -> None:
    attempt = Trial(interface="website")
    begun(attempt.run.revision, approval=attempt.run.approval)
    answer = ask(an_ask(attempt))
    assert isinstance(answer, ApprovalRequired)
    assert answer.under_way
    assert answer.operation.operation_id == attempt.operation.operation_id
    assert answer.operation.revision != attempt.run.revision.revision


def test_an_agent_that_may_get_no_operation_gets_the_refusal() -> None:
    asked = an_ask(Trial(), refusal=Refusal())
    assert ask(asked) == Undeclared(None)


@pytest.mark.slow
def test_an_ask_that_others_overtake_again_and_again_is_busy(monkeypatch: Any) -> None:
    attempt = Trial()
    asked = an_ask(attempt)
    Revision.objects.all().delete()
    Operation.objects.all().delete()
    monkeypatch.setattr(asking, "return_operation", lambda row, now: None)
    with pytest.raises(Busy, match="again and again"):
        ask(asked)


def test_an_ask_that_was_overtaken_once_finds_the_others_operation(monkeypatch: Any) -> None:
    attempt = Trial()
    assert isinstance(ask(an_ask(attempt), rows=[]), ApprovalRequired)
    assert Operation.objects.count() == 1


def test_at_the_cap_only_what_nobody_has_seen_gives_way(settings: Any) -> None:
    configure(settings, OPEN_REVISIONS=1)
    attempt = Trial()
    answer = ask(an_ask(attempt, slot=digest("another")))
    assert isinstance(answer, ErrorAnswer)
    assert answer.code == "rate_limited"
    assert int(answer.headers["Retry-After"]) == 901
    Revision.objects.update(looked_up_at=None)
    assert isinstance(ask(an_ask(attempt, slot=digest("another"))), ApprovalRequired)
    assert not Operation.objects.filter(pk=attempt.run.operation.pk).exists()


# A browser's repeat while its very request is being performed


def under_way(attempt: Trial) -> tuple[Any, Any, Any, Any]:
    begun(attempt.run.revision, approval=attempt.run.approval, effects="external")
    asked = an_ask(attempt)
    rows = live_revisions(OWNER, NOW)
    return asked.call, asked.caller, rows[0], rows


@pytest.mark.ambiguity("AMB-13")
def test_amb_13_a_repeat_gets_one_further_revision_and_then_the_same() -> None:
    call, caller, in_use, rows = under_way(Trial("external", interface="website"))
    first = ask_under_way(call, caller, in_use, rows)
    assert isinstance(first, ApprovalRequired)
    assert first.under_way
    assert ask_under_way(call, caller, in_use, live_revisions(OWNER, NOW)) == first
    assert Revision.objects.count() == 2


@pytest.mark.ambiguity("AMB-13")
def test_amb_13_a_repeat_gets_a_revision_of_what_is_performed_and_of_no_neighbour() -> None:
    attempt = Trial("external", interface="website")
    mine = {
        "action": attempt.run.operation.action,
        "interface": "website",
        "terms": TERMS.text,
        "terms_digest": TERMS.digest,
    }
    returned(**mine, slot=digest("another action"))
    others = {"terms": OTHER_TERMS.text, "terms_digest": OTHER_TERMS.digest}
    for neighbour in (others, {"content_digest": digest("other content")}):
        row = replace(ASKED, **{**mine, **neighbour}, slot=SLOT)
        assert asking.return_revision(row, attempt.operation, NOW) is not None
    begun(attempt.run.revision, approval=attempt.run.approval, effects="external")
    asked = an_ask(attempt)
    rows = live_revisions(OWNER, NOW)
    (in_use,) = [row for row in rows if is_in_use(row)]
    assert len(rows) == 4
    answer = ask_under_way(asked.call, asked.caller, in_use, rows)
    assert isinstance(answer, ApprovalRequired)
    further = Revision.objects.latest("pk")
    assert Revision.objects.count() == 5
    assert answer.operation.revision == further.revision
    for of in ("operation_id", "terms", "terms_digest", "content_digest", "summary"):
        assert getattr(further, of) == getattr(in_use, of)


def test_a_repeat_that_others_overtake_looks_again() -> None:
    call, caller, in_use, rows = under_way(Trial("external", interface="website"))
    other = ask_under_way(call, caller, in_use, live_revisions(OWNER, NOW))
    assert ask_under_way(call, caller, in_use, rows) == other
    assert Revision.objects.count() == 2


@pytest.mark.slow
def test_a_repeat_that_is_overtaken_again_and_again_is_answered_as_performing(
    monkeypatch: Any,
) -> None:
    call, caller, in_use, rows = under_way(Trial("external", interface="website"))
    monkeypatch.setattr(gate_asking.asking, "return_revision", lambda *args: None)
    assert isinstance(ask_under_way(call, caller, in_use, rows), StillPerforming)


def test_a_repeat_of_what_was_performed_in_that_moment_is_looked_at_again() -> None:
    call, caller, in_use, rows = under_way(Trial("external", interface="website"))
    Operation.objects.update(state="performed", slot=None)
    answer = ask_under_way(call, caller, in_use, rows)
    assert answer == Lost()
    assert Operation.objects.get().attempt == MINE


def test_a_repeat_of_what_another_approval_performs_by_now_is_looked_at_again() -> None:
    call, caller, in_use, rows = under_way(Trial("external", interface="website"))
    Operation.objects.update(approval=None, revision_count=7)
    assert ask_under_way(call, caller, in_use, rows) == Lost()


def test_an_ask_believes_only_a_new_look_that_something_is_performing(monkeypatch: Any) -> None:
    attempt = Trial()
    begun(attempt.run.revision)
    rows = live_revisions(OWNER, NOW, SLOT)
    Operation.objects.update(state="performed", slot=None)
    answer = ask(an_ask(attempt), rows)
    assert isinstance(answer, ApprovalRequired)
    assert answer.operation.operation_id != attempt.operation.operation_id


def test_an_agent_that_may_get_no_operation_is_told_that_it_is_under_way() -> None:
    attempt = Trial("external", interface="website")
    call, _, in_use, rows = under_way(attempt)
    for caller in (Caller("website", OWNER, refusal=Refusal()), Caller("website", None)):
        assert isinstance(ask_under_way(call, caller, in_use, rows), StillPerforming)
