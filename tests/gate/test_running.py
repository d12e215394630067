"""Every row of the table of endings: with effects in the database and outside, sync and async."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.core.exceptions import PermissionDenied
from django.core.signals import got_request_exception
from django.db import IntegrityError, transaction
from django.db.models.signals import ModelSignal, post_save
from django.db.transaction import TransactionManagementError
from django.http import (
    Http404,
    HttpResponse,
    HttpResponseRedirect,
    JsonResponse,
    StreamingHttpResponse,
)

from poppy_operations.declarations.outcomes import NotPerformed
from poppy_operations.gate.answers import PlainlyPerformed, SiteAnswer, StillPerforming
from poppy_operations.gate.performing.attempt import Attempt
from poppy_operations.lifecycle import finishing
from poppy_operations.models import Performance
from poppy_operations.signals import operation_performed, outcome_unknown
from tests.connections import in_the_way
from tests.gate.runs import DONE, TERMS, Trial, effects_left
from tests.lifecycle.rows import MINE, NOW, begun, facts, read, told_by
from tests.shop.operations import SoldOut

pytestmark = [pytest.mark.django_db, pytest.mark.database]
LOG = "poppy_operations"


@pytest.fixture(params=["sync", "async"])
def mode(request: pytest.FixtureRequest) -> str:
    """How the view waits."""
    return str(request.param)


@pytest.fixture(params=["website", "api"])
def interface(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def raising(error: type[BaseException] | BaseException) -> Callable[[], Any]:
    def end() -> Any:
        raise error

    return end


BELOW_400 = {
    "200": JsonResponse({"done": True}),
    "201": JsonResponse({"done": True}, status=201),
    "redirect": HttpResponseRedirect("/done/"),
    "other-path": HttpResponseRedirect("/accounts/login/done/"),
    "odd-location": HttpResponse(status=201, headers={"Location": "http://[odd"}),
    "stream": StreamingHttpResponse(["done"]),
}
NOT_BELOW_400 = {
    "login": HttpResponseRedirect("/accounts/login/?next=/buy/"),
    "login-elsewhere": HttpResponseRedirect("https://shop.example/accounts/login/"),
    "400": HttpResponse(status=400),
    "409": HttpResponse(status=409),
    "500": HttpResponse(status=500),
    "503": HttpResponse(status=503),
}
RAISED = {
    "404": Http404("gone"),
    "403": PermissionDenied("no"),
    "value": ValueError("a fault"),
    "timeout": TimeoutError("the gateway's"),
}
INTERRUPTIONS: dict[str, BaseException] = {
    "exit": SystemExit(1),
    "interrupt": KeyboardInterrupt(),
    "cancelled": asyncio.CancelledError(),
}
WHATEVER: dict[str, BaseException] = {**RAISED, **INTERRUPTIONS}


# A response below 400


@pytest.mark.requirement("OPS-1-03", "OPS-7-01")
@pytest.mark.parametrize("effects", ["database", "external"])
@pytest.mark.parametrize("response", BELOW_400.values(), ids=BELOW_400)
def test_a_response_below_400_is_performed(
    effects: str, mode: str, interface: str, response: Any
) -> None:
    attempt = Trial(effects, mode, interface, ending=lambda: response)
    with told_by(operation_performed) as told:
        outcome = attempt.go()
    assert outcome == SiteAnswer(response)
    assert (attempt.state, effects_left()) == ("performed", 1)
    assert attempt.operation.slot is None
    performance = attempt.performance
    assert (performance.status, performance.how) == (response.status_code, "finished")
    assert performance.attempt == attempt.run.token
    if interface == "api" and not response.streaming:
        assert bytes(performance.body or b"") == response.content
    else:
        assert performance.body is None
    assert [call["late"] for call in told.calls] == [False]


def test_in_review_the_slot_outlives_the_performance(mode: str) -> None:
    for effects in ("database", "external"):
        attempt = Trial(effects, mode, "review")
        attempt.go()
        assert attempt.operation.slot is not None
        attempt.operation.delete()


# NotPerformed, or an exception that the action lists


@pytest.mark.requirement("OPS-7-16")
@pytest.mark.ambiguity("AMB-15")
@pytest.mark.parametrize("effects", ["database", "external"])
@pytest.mark.parametrize("status", [200, 302, 409, 422, 503, None])
def test_amb_15_not_performed_with_any_status_leaves_the_approval_usable(
    effects: str, mode: str, interface: str, status: int | None
) -> None:
    response = None if status is None else HttpResponse("sold out", status=status)
    attempt = Trial(effects, mode, interface, ending=raising(NotPerformed(response)))
    outcome = attempt.go()
    assert isinstance(outcome, SiteAnswer)
    assert outcome.result.status_code == (status or 409)
    assert response is None or outcome.result is response
    assert attempt.state == "open"
    # The site's own evidence of an external action stays: nothing of it is rolled back by us.
    assert effects_left() == (0 if effects == "database" else 1)
    assert attempt.operation.slot is not None
    assert attempt.again().go() == SiteAnswer(DONE)
    assert attempt.state == "performed"


@pytest.mark.ambiguity("AMB-15")
@pytest.mark.parametrize("effects", ["database", "external"])
def test_amb_15_an_exception_that_the_action_lists_passes_and_releases(
    effects: str, mode: str, interface: str
) -> None:
    attempt = Trial(effects, mode, interface, ending=raising(SoldOut("the last one is gone")))
    with pytest.raises(SoldOut, match="the last one"):
        attempt.go()
    assert attempt.state == "open"
    assert effects_left() == (0 if effects == "database" else 1)


# Any other ending, in the database: rolled back, released, that answer


@pytest.mark.parametrize("response", NOT_BELOW_400.values(), ids=NOT_BELOW_400)
def test_in_the_database_another_response_is_rolled_back_released_and_sent(
    mode: str, interface: str, response: HttpResponse
) -> None:
    attempt = Trial("database", mode, interface, ending=lambda: response)
    with told_by(operation_performed) as told:
        assert attempt.go() == SiteAnswer(response)
    assert (attempt.state, effects_left(), told.calls) == ("open", 0, [])
    assert attempt.operation.slot is not None


@pytest.mark.parametrize("error", WHATEVER.values(), ids=WHATEVER)
def test_in_the_database_an_exception_is_rolled_back_released_and_passes_unchanged(
    mode: str, interface: str, error: BaseException
) -> None:
    attempt = Trial("database", mode, interface, ending=raising(error))
    with pytest.raises(type(error)) as raised:
        attempt.go()
    assert raised.value is error
    assert (attempt.state, effects_left()) == ("open", 0)


def mark() -> None:
    transaction.set_rollback(True)


def swallow() -> None:
    """Catch a database error too late, as a view may."""
    with suppress(IntegrityError), transaction.atomic(savepoint=False):
        raise IntegrityError


@pytest.mark.requirement("OPS-7-16")
@pytest.mark.parametrize("happen", [mark, swallow])
def test_in_the_database_a_success_from_a_transaction_marked_for_rollback_is_an_error(
    mode: str, interface: str, happen: Any, caplog: Any
) -> None:
    attempt = Trial("database", mode, interface, happen=happen)
    with pytest.raises(TransactionManagementError, match=r"answered a success, .* its savepoint"):
        attempt.go()
    assert (attempt.state, effects_left()) == ("open", 0)
    assert "A success was answered from a transaction marked for rollback." in caplog.text


@pytest.mark.parametrize("response", NOT_BELOW_400.values(), ids=NOT_BELOW_400)
def test_in_the_database_a_refusal_from_a_transaction_marked_for_rollback_is_sent(
    mode: str, interface: str, response: HttpResponse
) -> None:
    attempt = Trial("database", mode, interface, happen=mark, ending=lambda: response)
    assert attempt.go() == SiteAnswer(response)
    assert (attempt.state, effects_left()) == ("open", 0)


def test_in_the_database_not_performed_from_a_transaction_marked_for_rollback_is_sent(
    mode: str,
) -> None:
    attempt = Trial("database", mode, happen=mark, ending=raising(NotPerformed(DONE)))
    assert attempt.go() == SiteAnswer(DONE)
    assert (attempt.state, effects_left()) == ("open", 0)


def test_in_the_database_a_view_without_a_response_is_djangos_to_complain_about(
    mode: str,
) -> None:
    attempt = Trial("database", mode, "website", ending=lambda: None)
    outcome = attempt.go()
    assert isinstance(outcome, SiteAnswer)
    assert outcome.result is None
    assert (attempt.state, effects_left()) == ("open", 0)


def test_in_the_database_an_answer_that_cannot_be_rendered_is_rolled_back(mode: str) -> None:
    attempt = Trial("database", mode, render=lambda response: raising(LookupError)())
    with pytest.raises(LookupError):
        attempt.go()
    assert (attempt.state, effects_left()) == ("open", 0)


# Any other ending, outside: unknown, reported, answered as performing


@pytest.mark.requirement("OPS-7-08")
@pytest.mark.ambiguity("AMB-15")
@pytest.mark.parametrize("response", NOT_BELOW_400.values(), ids=NOT_BELOW_400)
def test_amb_15_outside_another_response_is_unknown_and_answered_as_performing(
    mode: str, interface: str, response: HttpResponse, caplog: Any
) -> None:
    attempt = Trial("external", mode, interface, ending=lambda: response)
    with told_by(outcome_unknown) as told, caplog.at_level(logging.ERROR, LOG):
        outcome = attempt.go()
    assert outcome == StillPerforming(attempt.operation.operation_id, 60)
    assert (attempt.state, effects_left()) == ("unknown", 1)
    assert [call["attempt"] for call in told.calls] == [attempt.run.token]
    names = f"operation_id {attempt.operation.operation_id}, action {attempt.operation.action}"
    assert [record.message for record in caplog.records] == [
        f"Nobody knows whether an external action took effect. ({names})"
    ]
    assert caplog.records[0].operation_id == attempt.operation.operation_id


@pytest.mark.requirement("OPS-7-08")
@pytest.mark.ambiguity("AMB-15")
@pytest.mark.parametrize("error", RAISED.values(), ids=RAISED)
def test_amb_15_outside_an_exception_is_unknown_reported_and_answered_as_performing(
    mode: str, interface: str, error: Exception, caplog: Any
) -> None:
    seen: list[Any] = []

    def receiver(request: Any, **named: Any) -> None:
        seen.append((request, sys.exc_info()[1]))
        message = "a receiver that fails"
        raise RuntimeError(message)

    attempt = Trial("external", mode, interface, ending=raising(error))
    got_request_exception.connect(receiver)
    try:
        with caplog.at_level(logging.ERROR, LOG):
            outcome = attempt.go()
    finally:
        got_request_exception.disconnect(receiver)
    assert outcome == StillPerforming(attempt.operation.operation_id, 60)
    assert (attempt.state, effects_left()) == ("unknown", 1)
    # As Django's own report: whoever watches reads the exception that is being handled.
    assert seen == [(attempt.run.job.request, error)]
    assert caplog.records[0].exc_info[1] is error


@pytest.mark.requirement("OPS-7-08")
@pytest.mark.parametrize("error", INTERRUPTIONS.values(), ids=INTERRUPTIONS)
def test_outside_an_interruption_is_unknown_and_passes_on(
    mode: str, interface: str, error: BaseException
) -> None:
    attempt = Trial("external", mode, interface, ending=raising(error))
    with pytest.raises(type(error)):
        attempt.go()
    assert (attempt.state, effects_left()) == ("unknown", 1)


@pytest.mark.parametrize("interface", ["website", "api"])
def test_outside_a_view_without_a_response_is_unknown(mode: str, interface: str) -> None:
    attempt = Trial("external", mode, interface, ending=lambda: None)
    assert isinstance(attempt.go(), StillPerforming)
    assert (attempt.state, effects_left()) == ("unknown", 1)


@pytest.mark.parametrize("error", [LookupError(), RecursionError()])
def test_outside_an_answer_that_cannot_be_rendered_is_performed_and_plainly_said(
    mode: str, error: Exception, caplog: Any
) -> None:
    attempt = Trial("external", mode, render=lambda response: raising(error)())
    with caplog.at_level(logging.ERROR, LOG):
        outcome = attempt.go()
    assert outcome == PlainlyPerformed(attempt.operation.operation_id)
    assert (attempt.state, effects_left()) == ("performed", 1)
    assert (attempt.performance.status, attempt.performance.body) == (200, None)
    assert "could not be made" in caplog.text


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt()])
def test_outside_an_interruption_while_rendering_is_performed_and_passes_on(
    mode: str, error: BaseException
) -> None:
    attempt = Trial("external", mode, render=lambda response: raising(error)())
    with pytest.raises(type(error)):
        attempt.go()
    assert (attempt.state, effects_left()) == ("performed", 1)


def test_outside_an_answer_that_cannot_be_kept_is_performed_and_plainly_said(
    mode: str, caplog: Any
) -> None:
    class Odd(HttpResponse):
        @property
        def content(self) -> bytes:
            raise LookupError

        @content.setter
        def content(self, value: Any) -> None:
            pass

    attempt = Trial("external", mode, ending=lambda: Odd("{}", content_type="text/plain"))
    with caplog.at_level(logging.ERROR, LOG):
        outcome = attempt.go()
    assert outcome == PlainlyPerformed(attempt.operation.operation_id)
    assert attempt.state == "performed"
    assert "could not be kept" in caplog.text


def test_outside_a_refused_answer_that_cannot_be_rendered_is_unknown(mode: str) -> None:
    attempt = Trial(
        "external",
        mode,
        ending=lambda: HttpResponse(status=502),
        render=lambda response: raising(LookupError)(),
    )
    assert isinstance(attempt.go(), StillPerforming)
    assert attempt.state == "unknown"


# The database is in the way


def test_a_begin_that_the_database_prevents_is_lost_and_nothing_has_run(mode: str) -> None:
    for effects in ("database", "external"):
        attempt = Trial(effects, mode)
        with in_the_way("UPDATE", 1):
            outcome = attempt.go()
        assert type(outcome).__name__ == "Lost"
        assert (attempt.state, effects_left()) == ("open", 0)
        attempt.operation.delete()


def test_a_lost_claim_runs_nothing(mode: str) -> None:
    for effects in ("database", "external"):
        attempt = Trial(effects, mode)
        begun(attempt.run.revision, effects=effects)
        assert type(attempt.go()).__name__ == "Lost"
        assert attempt.operation.attempt == MINE
        assert effects_left() == 0
        attempt.operation.delete()


def test_outside_what_cannot_be_recorded_is_loud_and_the_answer_is_sent_all_the_same(
    mode: str, caplog: Any
) -> None:
    attempt = Trial("external", mode)
    with caplog.at_level(logging.ERROR, LOG), in_the_way("performance", 99):
        assert attempt.go() == SiteAnswer(DONE)
    assert "could not be recorded" in caplog.text
    assert attempt.state == "performing"


def test_outside_what_cannot_be_marked_unknown_is_loud_and_answered_as_performing(
    mode: str, caplog: Any
) -> None:
    attempt = Trial("external", mode, ending=raising(ValueError("a fault")))
    with (
        caplog.at_level(logging.ERROR, LOG),
        in_the_way('SET "outcome_unknown_since"', 99),
        in_the_way("SET `outcome_unknown_since`", 99),
    ):
        outcome = attempt.go()
    assert outcome == StillPerforming(attempt.operation.operation_id, 2)
    assert "could not be marked" in caplog.text
    assert attempt.state == "performing"


def test_what_cannot_be_released_is_left_to_its_lease(mode: str, caplog: Any) -> None:
    attempt = Trial("database", mode, ending=raising(NotPerformed()))
    hindered: list[Any] = []

    def hinder() -> None:
        hindrance = in_the_way("UPDATE", 99)
        hindrance.__enter__()
        hindered.append(hindrance)

    attempt.happen = hinder
    try:
        outcome = attempt.go()
    finally:
        hindered[0].__exit__(None, None, None)
    assert isinstance(outcome, SiteAnswer)
    assert (attempt.state, effects_left()) == ("performing", 0)
    assert "could not be released" in caplog.text


@contextmanager
def failing_at(signal: ModelSignal, sender: type) -> Iterator[None]:
    """Let a receiver of the site's fail, such as an audit trail."""

    def fail(**_named: Any) -> None:
        message = "a receiver of the site's"
        raise ValueError(message)

    signal.connect(fail, sender=sender)
    try:
        yield
    finally:
        signal.disconnect(fail, sender=sender)


@pytest.mark.requirement("OPS-7-08")
def test_outside_a_receiver_that_fails_while_it_is_recorded_makes_it_unknown_and_no_fault(
    mode: str, interface: str, caplog: Any
) -> None:
    attempt = Trial("external", mode, interface)
    with caplog.at_level(logging.ERROR, LOG), failing_at(post_save, Performance):
        outcome = attempt.go()
    assert outcome == StillPerforming(attempt.operation.operation_id, 60)
    assert (attempt.state, effects_left()) == ("unknown", 1)
    assert [record.exc_info[0] for record in caplog.records] == [ValueError]
    assert TERMS.text not in caplog.text


@pytest.mark.requirement("OPS-7-08")
def test_outside_whatever_fails_after_an_unknown_outcome_is_loud_and_answered_as_performing(
    mode: str, caplog: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = Trial("external", mode, ending=raising(ValueError("a fault")))
    monkeypatch.setattr(finishing, "mark_unknown", lambda *_: raising(LookupError)())
    monkeypatch.setattr(Attempt, "read_again", lambda _self: raising(LookupError)())
    with caplog.at_level(logging.ERROR, LOG):
        outcome = attempt.go()
    assert outcome == StillPerforming(attempt.operation.operation_id, 2)
    assert [record.message.partition(" (")[0] for record in caplog.records] == [
        "Nobody knows whether an external action took effect.",
        "The unknown outcome could not be marked; its lease ends it.",
        "An operation of unknown outcome could not be read again.",
    ]


# When


@pytest.mark.parametrize("effects", ["database", "external"])
def test_an_attempt_says_when_it_began_and_when_it_ended_and_not_when_its_request_came(
    effects: str, mode: str
) -> None:
    began, ended = NOW + timedelta(minutes=4), NOW + timedelta(minutes=29)
    attempt, seen = Trial(effects, mode), []

    def happen() -> None:
        seen.append(attempt.operation)
        clock.move_to(ended)

    attempt.happen = happen
    with time_machine.travel(began, tick=False) as clock:
        attempt.go_in_time()
    (claimed,) = seen
    assert claimed.started_at == began
    assert claimed.lease_until == began + timedelta(seconds=claimed.lease_s)
    assert attempt.performance.finished_at == ended


def test_an_unknown_outcome_says_since_when_and_not_when_its_request_came(mode: str) -> None:
    ended = NOW + timedelta(minutes=25)
    attempt = Trial("external", mode, ending=raising(TimeoutError()))
    with time_machine.travel(NOW, tick=False) as clock:
        attempt.happen = lambda: clock.move_to(ended)
        attempt.go_in_time()
    assert attempt.operation.outcome_unknown_since == ended


# Late


@pytest.mark.requirement("OPS-7-01")
def test_outside_a_finish_after_the_attempt_was_given_up_is_recorded_loudly(
    mode: str, caplog: Any
) -> None:
    attempt = Trial("external", mode)
    attempt.happen = attempt.lose
    with caplog.at_level(logging.ERROR, LOG), told_by(operation_performed) as told:
        assert attempt.go() == SiteAnswer(DONE)
    assert attempt.state == "performed"
    assert attempt.performance.how == "late"
    assert [call["late"] for call in told.calls] == [True]
    assert "had been given up" in caplog.text


def test_outside_a_finish_of_what_was_performed_already_is_recorded_loudly(
    mode: str, caplog: Any
) -> None:
    attempt = Trial("external", mode)
    first: list[Any] = []

    def overtake() -> None:
        if not first:
            first.append(1)
            attempt.lose()
            attempt.again(mode="sync", happen=lambda: None).go()

    attempt.happen = overtake
    with caplog.at_level(logging.ERROR, LOG), told_by(operation_performed) as told:
        assert attempt.go() == SiteAnswer(DONE)
    assert "performed already" in caplog.text
    assert len(told.calls) == 1
    assert attempt.performance.attempt != attempt.run.token


def test_nothing_is_said_of_the_clock_but_what_the_call_says() -> None:
    attempt = Trial("database")
    attempt.go()
    assert read(attempt.performance).finished_at == NOW
    assert facts(attempt.operation)["lease_until"] is None
