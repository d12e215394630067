"""What changes between the checks and the run, and attempts that outlive their lease."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

import pytest
from django.http import Http404, HttpResponse, JsonResponse

from poppy_operations.declarations.outcomes import NotPerformed
from poppy_operations.gate.answers import OtherTerms, Replay, SiteAnswer, StillPerforming
from poppy_operations.gate.performing import in_database
from poppy_operations.lifecycle import claims, finishing
from poppy_operations.models import Performance
from poppy_operations.signals import operation_performed
from tests.connections import in_the_way
from tests.gate.runs import DONE, OTHER_TERMS, TERMS, Trial, effects_left
from tests.lifecycle.rows import NOW, read, told_by

pytestmark = [pytest.mark.django_db, pytest.mark.database]
LOG = "poppy_operations"
LONG_AFTER = NOW + timedelta(hours=1)


@pytest.fixture(params=["sync", "async"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# Terms, evaluated again as the first thing in the run's transaction


def test_terms_that_are_still_the_same_are_performed(mode: str) -> None:
    asked: list[int] = []

    def terms() -> Any:
        asked.append(effects_left())
        return TERMS

    assert Trial("database", mode, terms=terms).go() == SiteAnswer(DONE)
    assert asked == [0]


@pytest.mark.requirement("OPS-3-19", "OPS-6-37")
def test_other_terms_are_rolled_back_released_and_a_failed_check_3(mode: str) -> None:
    attempt = Trial("database", mode, terms=lambda: OTHER_TERMS)
    assert attempt.go() == OtherTerms(OTHER_TERMS)
    assert (attempt.state, effects_left()) == ("open", 0)


def test_a_response_of_the_site_instead_of_terms_is_that_answer(mode: str) -> None:
    refusal = HttpResponse("sold out", status=200)
    attempt = Trial("database", mode, terms=lambda: refusal)
    assert attempt.go() == SiteAnswer(refusal)
    assert (attempt.state, effects_left()) == ("open", 0)


def test_an_exception_of_the_site_instead_of_terms_passes(mode: str) -> None:
    def terms() -> Any:
        raise Http404

    attempt = Trial("database", mode, terms=terms)
    with pytest.raises(Http404):
        attempt.go()
    assert (attempt.state, effects_left()) == ("open", 0)


def test_outside_the_terms_are_not_asked_again(mode: str) -> None:
    attempt = Trial("external", mode, terms=lambda: OTHER_TERMS)
    assert attempt.go() == SiteAnswer(DONE)
    assert attempt.state == "performed"


# Attempts that outlive their lease


def taken_over(attempt: Trial, *, then: Any = None) -> None:
    """Let another request free the lapsed attempt and, where it is said so, run its own."""
    assert claims.free(read(attempt.run.operation), LONG_AFTER)
    if then is not None:
        then(attempt.again(mode="sync"))


def performs(other: Trial) -> None:
    assert isinstance(other.go(), SiteAnswer)


def begins(other: Trial) -> None:
    assert other.run.begin()


def does_nothing(other: Trial) -> None:
    other.ending = lambda: HttpResponse(status=409)
    assert isinstance(other.go(), SiteAnswer)


@pytest.mark.requirement("OPS-7-01")
def test_a_lapsed_attempt_that_nobody_took_over_commits(mode: str) -> None:
    attempt = Trial("database", mode)
    attempt.happen = lambda: attempt.run.operation.__class__.objects.update(lease_until=NOW)
    assert attempt.go() == SiteAnswer(DONE)
    assert attempt.state == "performed"


# The take-over happens on this very connection, so its own writes are undone with the loser's.
# What stays of it is seen in test_races.py; here it is what each ending is answered with.


def between(attempt: Trial, then: Any) -> Any:
    """Take the attempt over just before its claim is judged, outside its transaction."""
    original = attempt.run.__class__.release

    def release(run: Any) -> bool | None:
        if run is attempt.run and not moved:
            moved.append(1)
            taken_over(attempt, then=then)
        return original(run)

    moved: list[int] = []
    return release


def not_performed() -> Any:
    raise NotPerformed(HttpResponse("sold out", status=409))


def fault() -> Any:
    message = "a fault"
    raise ValueError(message)


ENDINGS = {
    "409": lambda: HttpResponse("sold out", status=409),
    "not performed": not_performed,
    "fault": fault,
}


@pytest.mark.requirement("OPS-7-08")
@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
def test_an_attempt_without_effect_gets_the_answer_of_the_one_that_performed_meanwhile(
    mode: str, monkeypatch: Any, ending: Any
) -> None:
    attempt = Trial("database", mode, ending=ending)
    monkeypatch.setattr(type(attempt.run), "release", between(attempt, performs))
    outcome = attempt.go()
    assert isinstance(outcome, Replay)
    assert outcome.performance == Performance.objects.get()
    assert outcome.operation_id == attempt.operation.operation_id
    assert effects_left() == 1


@pytest.mark.requirement("OPS-7-08")
@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
def test_an_attempt_without_effect_waits_for_the_one_that_took_it_over(
    mode: str, monkeypatch: Any, ending: Any
) -> None:
    attempt = Trial("database", mode, ending=ending)
    monkeypatch.setattr(type(attempt.run), "release", between(attempt, begins))
    assert attempt.go() == StillPerforming(attempt.operation.operation_id, 2)
    assert (attempt.state, effects_left()) == ("performing", 0)


def test_other_terms_of_an_attempt_that_was_taken_over_are_the_other_ones_to_answer(
    mode: str, monkeypatch: Any
) -> None:
    attempt = Trial("database", mode, terms=lambda: OTHER_TERMS)
    monkeypatch.setattr(type(attempt.run), "release", between(attempt, performs))
    assert isinstance(attempt.go(), Replay)


def test_where_nobody_performed_the_sites_own_ending_is_the_answer(
    mode: str, monkeypatch: Any
) -> None:
    attempt = Trial("database", mode, ending=fault)
    monkeypatch.setattr(type(attempt.run), "release", between(attempt, does_nothing))
    with pytest.raises(ValueError, match="a fault"):
        attempt.go()
    assert (attempt.state, effects_left()) == ("open", 0)


@pytest.mark.parametrize("ending", ["not performed", "listed"])
@pytest.mark.parametrize("then", [performs, begins])
def test_outside_an_attempt_without_effect_gets_the_answer_of_the_other_one(
    mode: str, monkeypatch: Any, ending: str, then: Any
) -> None:
    def listed() -> Any:
        raise attempt.run.job.action.not_performed[0]

    attempt = Trial("external", mode)
    attempt.ending = listed if ending == "listed" else not_performed
    original = type(attempt.run).release
    moved: list[int] = []

    def release(run: Any) -> bool | None:
        if run is attempt.run and not moved:
            moved.append(1)
            original(run)  # As a person who settles it would.
            then(attempt.again(mode="sync"))
        return original(run)

    monkeypatch.setattr(type(attempt.run), "release", release)
    outcome = attempt.go()
    assert isinstance(outcome, Replay if then is performs else StillPerforming)


@pytest.mark.requirement("OPS-7-01")
@pytest.mark.parametrize("then", [performs, begins])
def test_a_late_finish_in_the_database_is_rolled_back_and_answers_for_the_other_one(
    mode: str, monkeypatch: Any, caplog: Any, then: Any
) -> None:
    attempt = Trial("database", mode, ending=lambda: JsonResponse({"late": True}))
    original = finishing.finish

    def finish(*args: Any, **options: Any) -> bool:
        if options["attempt"] != attempt.run.token:
            return original(*args, **options)
        attempt.lose()
        return original(*args, **options)

    def rolled_back(stack: Any, reason: BaseException) -> None:
        undo(stack, reason)
        if not moved:
            moved.append(1)
            taken_over(attempt, then=then)

    moved: list[int] = []
    undo = in_database._roll_back
    monkeypatch.setattr(finishing, "finish", finish)
    monkeypatch.setattr(in_database, "_roll_back", rolled_back)
    with caplog.at_level(logging.WARNING, LOG), told_by(operation_performed) as told:
        outcome = attempt.go()
    assert "outlived its lease and was taken over" in caplog.text
    assert isinstance(outcome, Replay if then is performs else StillPerforming)
    assert len(told.calls) == effects_left() == (1 if then is performs else 0)


def test_a_late_finish_after_a_take_over_that_did_nothing_is_not_told_as_failed(
    mode: str, monkeypatch: Any
) -> None:
    attempt = Trial("database", mode)
    monkeypatch.setattr(finishing, "finish", lambda *args, **options: False)
    undo = in_database._roll_back

    def rolled_back(stack: Any, reason: BaseException) -> None:
        undo(stack, reason)
        claims.free(read(attempt.run.operation), LONG_AFTER)

    monkeypatch.setattr(in_database, "_roll_back", rolled_back)
    assert attempt.go() == StillPerforming(attempt.operation.operation_id, 2)
    assert (attempt.state, effects_left()) == ("open", 0)


def test_an_operation_that_cannot_be_read_again_is_answered_as_performing(
    mode: str, monkeypatch: Any, caplog: Any
) -> None:
    attempt = Trial("external", mode, ending=fault)
    original = type(attempt.run).read_again

    def read_again(run: Any) -> Any:
        with in_the_way("SELECT", 99):
            return original(run)

    monkeypatch.setattr(type(attempt.run), "read_again", read_again)
    outcome = attempt.go()
    assert outcome == StillPerforming(attempt.operation.operation_id, 60)
    assert "could not be read again" in caplog.text
