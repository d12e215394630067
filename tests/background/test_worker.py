"""What a worker makes of a queued attempt, whatever the queue does."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django import forms
from django.core.signals import got_request_exception
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import engines
from django.template.response import SimpleTemplateResponse
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from poppy_operations import NotPerformed, Terms, background, maintenance
from poppy_operations.background import perform_attempt
from poppy_operations.declarations.current import CurrentOperation
from poppy_operations.declarations.registry import registry
from poppy_operations.lifecycle import claims, finishing, queueing
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.models import Approval, Operation, Performance
from poppy_operations.protocol import stored_answer
from poppy_operations.site_responses import response_of
from poppy_operations.testing.agents import PersonalAgent
from tests.background.agents import Job, MakeJob
from tests.configuring import configure
from tests.connections import in_the_way
from tests.crash.site import Moments, in_database_later, outside_later

pytestmark = [pytest.mark.django_db, pytest.mark.database]
ACTIONS = {"database": in_database_later, "external": outside_later}
both = pytest.mark.parametrize("effects", ["database", "external"])
doors = pytest.mark.parametrize("door", ["website", "api"])


class Queue:
    """A queue that keeps its messages until a test delivers them, unless it is down."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, str]] = []
        self.is_down = False
        self.loses_answers = False

    def __call__(self, operation_id: str, attempt: str) -> None:
        if self.is_down:
            message = "connection refused"
            raise ConnectionError(message)
        self.messages.append((operation_id, attempt))
        if self.loses_answers:
            message = "the connection was lost"
            raise ConnectionError(message)

    def deliver(self) -> list[bool]:
        """Deliver every message that there ever was."""
        return [perform_attempt(*message) for message in self.messages]


queue = Queue()


@pytest.fixture(autouse=True)
def broker(settings: Any) -> Queue:
    configure(settings, QUEUE="tests.background.test_worker.queue")
    queue.__init__()  # type: ignore[misc]  # empty again
    return queue


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Change what an action's hooks do."""

    def change(of: str, **changes: Any) -> None:
        for name, hook in changes.items():
            monkeypatch.setattr(ACTIONS[of], name, hook)

    return change


def state() -> str:
    return str(Operation.objects.get().state)


def said(caplog: pytest.LogCaptureFixture, message: str) -> logging.LogRecord:
    """The one record with this message, which says of which operation and action it is."""
    operation = Operation.objects.get()
    names = f"operation_id {operation.operation_id}, action {operation.action}"
    (record,) = [one for one in caplog.records if one.getMessage() == f"{message} ({names})"]
    assert vars(record)["operation_id"] == operation.operation_id
    assert vars(record)["action"] == operation.action
    return record


@both
@doors
def test_the_agent_is_told_that_it_is_under_way_until_a_worker_has_performed_it(
    job: MakeJob, broker: Queue, door: str, effects: str
) -> None:
    mine = job(door, effects)
    first = mine.send()
    assert first.status_code == (403 if door == "website" else 503)
    assert not mine.is_done()
    assert mine.times == 0
    assert len(broker.messages) == 1
    assert broker.deliver() == [True]

    assert mine.is_done()
    assert mine.times == 1
    if door == "api":
        assert json.loads(mine.send().content) == {"done": mine.operation_id}
    assert Performance.objects.get().status == 200


@both
def test_the_waiting_page_follows_the_worker(job: MakeJob, broker: Queue, effects: str) -> None:
    mine = job("website", effects)
    page = mine.send().content.decode()
    (watch,) = re.findall(r'data-poppy-watch="([^"]+)"', page)
    assert mine.browser.get(watch).json() == {"status": "performing"}
    broker.deliver()

    assert mine.browser.get(watch).json() == {"status": "performed"}


@both
def test_the_same_message_twice_does_nothing_twice(
    job: MakeJob, broker: Queue, effects: str
) -> None:
    mine = job(effects=effects)
    mine.send()
    broker.messages *= 2
    assert broker.deliver() == [True, False]
    assert broker.deliver() == [False, False]

    assert mine.times == 1


@both
def test_the_same_message_to_two_workers_at_once_is_started_by_one(
    job: MakeJob, broker: Queue, ordinary: Moments, effects: str
) -> None:
    mine = job(effects=effects)
    mine.send()
    others: list[bool] = []
    ordinary.before_effect = lambda: others.extend(broker.deliver())
    assert broker.deliver() == [True]

    assert others == [False]
    assert mine.times == 1


def test_a_worker_that_read_the_attempt_before_another_one_started_it_has_lost(
    job: MakeJob, broker: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = job()
    mine.send()
    monkeypatch.setattr(queueing, "start", lambda *args: False)
    assert broker.deliver() == [False]

    assert mine.times == 0
    assert state() == "performing"


def test_messages_of_nothing_do_nothing(job: MakeJob, broker: Queue) -> None:
    mine = job()
    mine.send()

    assert not perform_attempt(mine.operation_id, "b" * 32)
    assert not perform_attempt("op_unknown", broker.messages[0][1])
    assert mine.times == 0


def test_a_message_that_comes_after_a_late_attempt_performed_it_is_nothing_to_tell(
    job: MakeJob, broker: Queue, hooks: Any, caplog: pytest.LogCaptureFixture
) -> None:
    mine = job(effects="external")
    mine.send()
    operation = Operation.objects.get()
    late = finishing.finish_external(
        operation,
        Approval.objects.get(),
        stored_answer.StoredAnswer(200),
        attempt="c" * 32,
        now=timezone.now(),
    )
    assert late is finishing.Finish.LATE
    hooks("external", effects="database")
    assert broker.deliver() == [False]

    assert (mine.times, state()) == (0, "performed")
    assert caplog.records == []


def test_an_outdated_message_does_not_give_the_attempt_of_another_one_back(
    job: MakeJob, broker: Queue, hooks: Any, caplog: pytest.LogCaptureFixture
) -> None:
    mine = job()
    mine.send()
    hooks("database", effects="external")

    assert not perform_attempt(mine.operation_id, "b" * 32)
    assert state() == "performing"
    assert caplog.records == []


def test_a_worker_reads_all_that_it_performs_at_once(job: MakeJob, broker: Queue) -> None:
    mine = job(effects="external")
    mine.send()
    with CaptureQueriesContext(connection) as captured:
        assert broker.deliver() == [True]

    queries = [query["sql"] for query in captured.captured_queries]
    assert len([sql for sql in queries if sql.startswith("SELECT")]) == 1, queries


@both
def test_of_an_answer_to_a_browser_no_body_is_kept(
    job: MakeJob, broker: Queue, effects: str
) -> None:
    mine = job("website", effects)
    mine.send()
    assert broker.deliver() == [True]

    assert Performance.objects.get().body is None


@both
def test_a_start_that_is_interrupted_is_left_to_whoever_started_it(
    job: MakeJob, broker: Queue, monkeypatch: pytest.MonkeyPatch, effects: str
) -> None:
    mine = job(effects=effects)
    mine.send()
    start = queueing.start

    def interrupted(*args: Any) -> bool:
        start(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(queueing, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        broker.deliver()

    assert mine.times == 0
    assert Operation.objects.get().started_at is not None


def test_a_database_in_the_way_of_a_start_leaves_the_attempt_for_later(
    job: MakeJob, broker: Queue, caplog: pytest.LogCaptureFixture
) -> None:
    mine = job()
    mine.send()
    with in_the_way("UPDATE", 1), pytest.raises(Busy):
        broker.deliver()

    failed = said(caplog, "A worker's attempt failed; it may be tried again.")
    assert failed.levelno == logging.WARNING
    assert maintenance.requeue() == 0  # not before five minutes have passed
    with time_machine.travel(Operation.objects.get().lease_until - timedelta(minutes=10)):
        assert maintenance.requeue() == 1
    assert broker.deliver() == [True, False]
    assert mine.times == 1


@doors
def test_a_claim_that_was_lost_is_looked_at_again(
    job: MakeJob, broker: Queue, monkeypatch: pytest.MonkeyPatch, door: str
) -> None:
    mine = job(door)
    begin, answers = claims.begin, [False]

    def lost_at_first(*args: Any, **options: Any) -> bool:
        return answers.pop() if answers else begin(*args, **options)

    monkeypatch.setattr(claims, "begin", lost_at_first)
    assert mine.send().status_code == (403 if door == "website" else 503)
    assert broker.deliver() == [True]
    assert mine.times == 1


@doors
def test_a_claim_that_was_interrupted_before_the_queue_had_it_is_given_back(
    job: MakeJob, broker: Queue, monkeypatch: pytest.MonkeyPatch, door: str
) -> None:
    mine = job(door)
    begin = claims.begin

    def interrupted(*args: Any, **options: Any) -> bool:
        begin(*args, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(claims, "begin", interrupted)
    with pytest.raises(KeyboardInterrupt):
        mine.send()
    monkeypatch.setattr(claims, "begin", begin)
    assert (broker.messages, state()) == ([], "open")
    mine.send()
    assert broker.deliver() == [True]

    assert mine.times == 1


# A queue that fails


@both
@doors
def test_a_queue_that_is_down_loses_nothing(
    job: MakeJob, broker: Queue, door: str, effects: str, caplog: pytest.LogCaptureFixture
) -> None:
    mine = job(door, effects)
    broker.is_down = True
    answer = mine.send()
    assert answer.status_code == 503
    assert int(answer["Retry-After"]) > 0
    assert state() == "open"
    failed = said(caplog, "The queue did not take an attempt.")
    assert failed.levelno == logging.ERROR
    assert failed.exc_info is not None
    assert isinstance(failed.exc_info[1], ConnectionError)
    assert [one for one in caplog.records if one.levelno >= logging.WARNING] == [failed]
    broker.is_down = False
    mine.send()
    assert broker.deliver() == [True]

    assert mine.is_done()
    assert mine.times == 1


@both
def test_a_queue_that_took_it_and_said_otherwise_has_it_done_once(
    job: MakeJob, broker: Queue, effects: str
) -> None:
    mine = job(effects=effects)
    broker.loses_answers = True
    assert mine.send().status_code == 503
    broker.loses_answers = False
    assert broker.deliver() == [False]
    mine.send()
    assert broker.deliver() == [False, True]

    assert mine.times == 1


@both
def test_a_worker_that_is_faster_than_the_fault_of_the_queue_keeps_its_attempt(
    job: MakeJob, settings: Any, effects: str
) -> None:
    settings.POPPY_OPERATIONS["QUEUE"] = "tests.background.test_worker.performed_and_failed"
    mine = job(effects=effects)
    assert json.loads(mine.send().content) == {"done": mine.operation_id}
    assert mine.times == 1
    assert state() == "performed"

    assert mine.is_done()


@both
def test_no_browser_is_told_to_repeat_what_a_worker_performed_before_the_queue_failed(
    job: MakeJob, settings: Any, effects: str
) -> None:
    settings.POPPY_OPERATIONS["QUEUE"] = "tests.background.test_worker.performed_and_failed"
    mine = job("website", effects)
    answer = mine.send()

    assert answer.status_code == 200
    assert "did not take up this request" not in answer.content.decode()
    assert (mine.times, mine.status()) == (1, "performed")


def performed_and_failed(operation_id: str, attempt: str) -> None:
    perform_attempt(operation_id, attempt)
    message = "the connection was lost"
    raise ConnectionError(message)


def test_what_nobody_ever_started_is_free_again_once_the_queue_had_its_time(
    job: MakeJob, broker: Queue
) -> None:
    mine = job()
    mine.send()
    lost, broker.messages = broker.messages, []
    with time_machine.travel(Operation.objects.get().lease_until + timedelta(seconds=1)):
        assert mine.send().status_code == 503  # begun again
        assert broker.deliver() == [True]
        broker.messages = lost
        assert broker.deliver() == [False]

    assert mine.times == 1


# What the site says meanwhile


@pytest.mark.parametrize(
    "still",
    [
        lambda operation: Terms({"thing": "else"}),
        lambda operation: NotPerformed(HttpResponse(status=410)),
        lambda operation: NotPerformed(),
    ],
    ids=["other terms", "not any more", "no"],
)
@both
def test_terms_that_do_not_hold_any_more_are_not_performed(
    job: MakeJob, broker: Queue, hooks: Any, effects: str, still: Any
) -> None:
    mine = job(effects=effects)
    mine.send()
    hooks(effects, still=still)
    assert broker.deliver() == [True]

    assert (mine.times, state()) == (0, "open")


@both
def test_still_may_raise_what_it_may_return(
    job: MakeJob, broker: Queue, hooks: Any, effects: str
) -> None:
    def gone(_operation: Any) -> Terms:
        raise NotPerformed

    mine = job(effects=effects)
    mine.send()
    hooks(effects, still=gone)
    assert broker.deliver() == [True]

    assert (mine.times, state()) == (0, "open")


def fault(_operation: Any) -> Any:
    message = "a fault of the site's"
    raise RuntimeError(message)


def test_a_fault_before_anything_reached_outside_is_no_unknown_outcome(
    job: MakeJob, broker: Queue, hooks: Any, caplog: pytest.LogCaptureFixture
) -> None:
    mine = job(effects="external")
    mine.send()
    hooks("external", still=fault)
    assert broker.deliver() == [True]

    assert (mine.times, state()) == (0, "open")
    failed = said(caplog, "still= failed; nothing was performed.")
    assert failed.levelno == logging.ERROR
    assert "a fault of the site's" in caplog.text


@pytest.mark.parametrize("found", [None, {"thing": "it"}, object()])
@both
def test_terms_that_are_none_do_not_hold(
    job: MakeJob, broker: Queue, hooks: Any, effects: str, found: object
) -> None:
    mine = job(effects=effects)
    mine.send()
    hooks(effects, still=lambda operation: found)
    assert broker.deliver() == [True]

    assert (mine.times, state()) == (0, "open")


@pytest.mark.parametrize("hook", ["still", "perform"])
def test_a_fault_with_effects_in_the_database_is_rolled_back_and_told(
    job: MakeJob, broker: Queue, hooks: Any, hook: str, caplog: pytest.LogCaptureFixture
) -> None:
    mine = job()
    mine.send()
    hooks("database", **{hook: fault})
    with pytest.raises(RuntimeError):
        broker.deliver()

    assert (mine.times, state()) == (0, "open")
    failed = said(caplog, "A worker's attempt failed; it may be tried again.")
    assert failed.levelno == logging.ERROR
    assert "a fault of the site's" in caplog.text
    assert mine.send().status_code == 503
    assert len(broker.messages) == 2


def test_a_fault_after_something_reached_outside_is_an_unknown_outcome(
    job: MakeJob, broker: Queue, ordinary: Moments
) -> None:
    def hang_up() -> None:
        message = "the gateway hung up"
        raise ConnectionError(message)

    def receive(request: object, **named: Any) -> None:
        told.append(request)

    told: list[object] = []
    mine = job(effects="external")
    mine.send()
    ordinary.after_effect = hang_up
    got_request_exception.connect(receive)
    try:
        assert broker.deliver() == [True]
    finally:
        got_request_exception.disconnect(receive)
    # Who watches for faults reads a request, though a worker has none of anybody's.
    assert [type(request) for request in told] == [HttpRequest]
    assert Operation.objects.get().outcome_unknown_since is not None
    assert not mine.is_done()
    assert maintenance.reconcile().performed == 1

    assert mine.send().status_code == 201  # as the hook says it
    assert mine.times == 1


# What a worker refused


def refusing(response: HttpResponse | None) -> Callable[[CurrentOperation], HttpResponse]:
    def perform(operation: CurrentOperation) -> HttpResponse:
        raise NotPerformed(response)

    return perform


def gone() -> HttpResponse:
    headers = {"X-Reason": "gone", "Set-Cookie": "a=b"}
    return HttpResponse("sold out", status=410, headers=headers)


def refused(
    job: MakeJob,
    broker: Queue,
    hooks: Any,
    answer: HttpResponse | None,
    *,
    door: str = "api",
    effects: str = "database",
) -> Job:
    """A job that a worker has refused with an answer."""
    mine = job(door, effects)
    mine.send()
    hooks(effects, perform=refusing(answer))
    broker.deliver()
    return mine


@both
@doors
@pytest.mark.parametrize("hook", ["perform", "still"])
def test_what_a_worker_refused_is_the_answer_to_one_repeat(
    job: MakeJob, broker: Queue, hooks: Any, door: str, effects: str, hook: str
) -> None:
    mine = job(door, effects)
    under_way = mine.send()
    with pytest.MonkeyPatch.context() as refused:
        says = {"perform": refusing(gone()), "still": lambda operation: NotPerformed(gone())}
        refused.setattr(ACTIONS[effects], hook, says[hook])
        assert broker.deliver() == [True]
    answer = mine.send()
    assert (answer.status_code, answer.content) == (410, b"sold out")
    assert answer["X-Reason"] == "gone"
    assert answer["Content-Type"] == "text/html; charset=utf-8"
    assert "a" not in answer.cookies
    assert (mine.times, state(), len(broker.messages)) == (0, "open", 1)

    assert mine.send().status_code == under_way.status_code
    assert broker.deliver() == [False, True]
    assert mine.times == 1
    assert mine.is_done()


def test_a_response_that_says_failure_is_the_answer_to_one_repeat(
    job: MakeJob, broker: Queue, hooks: Any
) -> None:
    mine = job()
    mine.send()
    hooks("database", perform=lambda operation: JsonResponse({"error": "sold out"}, status=422))
    assert broker.deliver() == [True]
    answer = mine.send()
    assert (answer.status_code, answer.json()) == (422, {"error": "sold out"})

    assert mine.send().status_code == 503
    assert len(broker.messages) == 2


class Confirmation(forms.Form):
    """What a worker found wrong."""

    sku = forms.CharField()


@both
def test_a_page_with_errors_is_the_answer_to_one_repeat_and_nothing_happened(
    job: MakeJob, broker: Queue, hooks: Any, effects: str
) -> None:
    template = engines["django"].from_string("no {{ form.sku.errors }}")
    page = SimpleTemplateResponse(template, {"form": Confirmation({})})
    mine = job("website", effects)
    mine.send()
    hooks(effects, perform=lambda operation: page)
    assert broker.deliver() == [True]
    answer = mine.send()
    assert (answer.status_code, b"required" in answer.content) == (200, True)
    assert state() == "open"


def test_a_refusal_without_a_response_is_an_empty_conflict(
    job: MakeJob, broker: Queue, hooks: Any
) -> None:
    mine = refused(job, broker, hooks, None)
    answer = mine.send()

    assert (answer.status_code, answer.content) == (409, b"")


@both
def test_a_refusal_with_something_else_than_a_response_is_an_empty_conflict(
    job: MakeJob, broker: Queue, hooks: Any, effects: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer: Any = "sold out"
    mine = refused(job, broker, hooks, answer, effects=effects)

    assert (mine.send().status_code, mine.times, state()) == (409, 0, "open")
    assert "A worker's NotPerformed has no response." in caplog.text


async def never_awaited(operation_id: str, attempt: str) -> None:
    """A queue that would take nothing."""


def of_one(operation_id: str) -> None:
    """A queue of another kind."""


@pytest.mark.parametrize(
    ("name", "message"),
    [("never_awaited", "it cannot be async"), ("of_one", "is called with an operation_id and an")],
)
def test_a_queue_that_cannot_be_called_has_taken_nothing(
    job: MakeJob, settings: Any, name: str, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings.POPPY_OPERATIONS["QUEUE"] = f"tests.background.test_worker.{name}"
    mine = job()

    assert (mine.send().status_code, state()) == (503, "open")
    assert message in caplog.text


def test_a_refusal_that_is_too_large_to_keep_is_its_status(
    job: MakeJob, broker: Queue, hooks: Any, settings: Any
) -> None:
    settings.POPPY_OPERATIONS["STORED_BODY_BYTES"] = 7
    mine = refused(job, broker, hooks, gone())
    answer = mine.send()

    assert (answer.status_code, answer.content) == (410, b"")


def test_a_refusal_that_is_rendered_late_is_rendered_by_the_worker(
    job: MakeJob, broker: Queue, hooks: Any
) -> None:
    template = engines["django"].from_string("no {{ what }}")
    page = SimpleTemplateResponse(template, {"what": "jacket"}, status=409)
    mine = refused(job, broker, hooks, page, door="website")
    answer = mine.send()

    assert (answer.status_code, answer.content) == (409, b"no jacket")


def test_a_refusal_that_cannot_be_rendered_keeps_nobody_from_trying_again(
    job: MakeJob, broker: Queue, hooks: Any, caplog: pytest.LogCaptureFixture
) -> None:
    page = SimpleTemplateResponse("no-such-template.html", status=409)
    mine = job()
    mine.send()
    hooks("database", perform=refusing(page))
    assert broker.deliver() == [True]
    failed = said(caplog, "What a worker's action said could not be kept.")
    assert failed.levelno == logging.ERROR
    assert "no-such-template.html" in caplog.text

    assert state() == "open"
    assert mine.send().status_code == 503
    assert len(broker.messages) == 2


@both
def test_of_two_repeats_at_once_one_gets_the_refusal_and_the_other_one_tries_again(
    job: MakeJob, broker: Queue, hooks: Any, monkeypatch: pytest.MonkeyPatch, effects: str
) -> None:
    mine = refused(job, broker, hooks, gone(), effects=effects)
    take, others = queueing.take_worker_answer, []

    def other_one_first(*args: Any) -> bool:
        monkeypatch.setattr(queueing, "take_worker_answer", take)
        others.append(mine.send().status_code)
        return take(*args)

    monkeypatch.setattr(queueing, "take_worker_answer", other_one_first)
    assert mine.send().status_code == 503
    assert others == [410]
    assert len(broker.messages) == 2


def test_a_refusal_of_one_revision_is_no_answer_to_another_one(
    job: MakeJob, broker: Queue, hooks: Any
) -> None:
    mine = refused(job, broker, hooks, gone())
    operation = Operation.objects.get()
    named, *answer = json.loads(operation.refusal or "")
    assert named == operation.revisions.get().revision
    Operation.objects.update(refusal=json.dumps([f"{named}x", *answer]))

    assert mine.send().status_code == 503
    assert Operation.objects.get().refusal is None
    assert len(broker.messages) == 2


def test_a_database_in_the_way_of_a_refusal_leaves_it_for_the_next_repeat(
    job: MakeJob, broker: Queue, hooks: Any
) -> None:
    mine = refused(job, broker, hooks, gone())
    with in_the_way("UPDATE", 1):
        assert mine.send().status_code == 503

    assert len(broker.messages) == 1
    assert mine.send().status_code == 410


@both
def test_a_worker_says_so_where_it_did_not_perform(
    job: MakeJob, broker: Queue, hooks: Any, effects: str, caplog: pytest.LogCaptureFixture
) -> None:
    mine = job(effects=effects)
    mine.send()
    hooks(effects, still=lambda operation: Terms({"thing": "else"}))
    assert broker.deliver() == [True]
    nothing = said(caplog, "A worker started an attempt, and did not perform it.")
    assert nothing.levelno == logging.WARNING

    assert Operation.objects.get().refusal is None
    assert mine.send().status_code == 503
    assert len(broker.messages) == 2


@both
def test_what_cannot_be_released_is_ended_by_its_lease(
    job: MakeJob, broker: Queue, hooks: Any, effects: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*args: Any) -> bool:
        raise Busy

    mine = job(effects=effects)
    mine.send()
    hooks(effects, perform=refusing(gone()))
    monkeypatch.setattr(claims, "release", busy)
    assert broker.deliver() == [True]

    assert state() == "performing"


# Revoked agents


@both
@doors
def test_what_waits_for_a_worker_is_not_performed_for_a_revoked_agent(
    job: MakeJob, broker: Queue, door: str, effects: str, caplog: pytest.LogCaptureFixture
) -> None:
    mine = job(door, effects)
    mine.send()
    maintenance.revoke(Operation.objects.get().client_id or "")
    assert broker.deliver() == [False]

    assert (mine.times, state()) == (0, "open")
    revoked = said(caplog, "The agent of a queued attempt was revoked; nothing is performed.")
    assert revoked.levelno == logging.WARNING


def test_that_one_agent_was_revoked_is_nothing_to_another_one(
    job: MakeJob, broker: Queue, other_agent: PersonalAgent
) -> None:
    mine = job()
    mine.send()
    maintenance.revoke(other_agent.client_id)

    assert broker.deliver() == [True]
    assert mine.times == 1


# Deployments


def test_an_action_that_this_worker_does_not_know_waits_for_another_worker(
    job: MakeJob, broker: Queue, caplog: pytest.LogCaptureFixture
) -> None:
    mine = job()
    mine.send()
    with away():
        assert broker.deliver() == [False]
    unknown = said(caplog, "A worker does not know the action of a queued attempt.")
    assert unknown.levelno == logging.WARNING
    assert state() == "performing"

    assert broker.deliver() == [True]
    assert mine.times == 1


class away:  # noqa: N801  a context
    """A release that has not got the action."""

    def __enter__(self) -> None:
        registry.discard(in_database_later)

    def __exit__(self, *_args: object) -> None:
        registry.add(in_database_later)


@both
def test_an_action_that_is_not_performed_in_the_background_any_more_does_nothing(
    job: MakeJob, broker: Queue, hooks: Any, effects: str, caplog: pytest.LogCaptureFixture
) -> None:
    mine = job(effects=effects)
    mine.send()
    hooks(effects, perform=None)
    assert broker.deliver() == [True]

    assert (mine.times, state()) == (0, "open")
    nothing = said(caplog, "The action of a queued attempt has no perform= any more.")
    assert nothing.levelno == logging.WARNING


@both
def test_an_attempt_for_other_effects_than_the_action_has_now_is_given_back(
    job: MakeJob, broker: Queue, hooks: Any, effects: str, caplog: pytest.LogCaptureFixture
) -> None:
    mine = job(effects=effects)
    mine.send()
    hooks(effects, effects="external" if effects == "database" else "database")
    assert broker.deliver() == [False]

    assert (mine.times, state()) == (0, "open")
    other = said(caplog, "A queued attempt was begun for other effects than its action has now.")
    assert other.levelno == logging.WARNING


# Results


def test_a_result_becomes_an_answer() -> None:
    given = HttpResponse("x", status=201)

    assert response_of(given) is given
    assert response_of(None).status_code == 204
    mapped = response_of({"a": 1})
    assert isinstance(mapped, JsonResponse)
    assert json.loads(mapped.content) == {"a": 1}


def test_a_response_that_is_rendered_late_is_rendered_by_the_worker(
    job: MakeJob, broker: Queue, hooks: Any
) -> None:
    template = engines["django"].from_string("done {{ what }}")
    mine = job()
    mine.send()
    hooks(
        "database",
        perform=lambda operation: SimpleTemplateResponse(
            template, {"what": "it"}, content_type="text/plain"
        ),
    )
    assert broker.deliver() == [True]

    assert mine.send().content == b"done it"


# A queue of the site's own


@both
def test_a_queue_of_the_sites_own_performs_by_a_public_name(
    job: MakeJob, broker: Queue, effects: str
) -> None:
    mine = job(effects=effects)
    mine.send()
    (message,) = broker.messages
    assert background.perform_attempt(*message)
    assert not background.perform_attempt(*message)

    assert mine.is_done()


def test_a_failure_outside_is_an_unknown_outcome_and_not_raised_to_the_queue(
    job: MakeJob, broker: Queue, hooks: Any
) -> None:
    mine = job(effects="external")
    mine.send()
    hooks("external", perform=fault)
    (message,) = broker.messages
    assert background.perform_attempt(*message)

    assert Operation.objects.get().outcome_unknown_since is not None


def test_an_exception_that_an_external_action_lists_is_raised_and_tried_again(
    job: MakeJob, broker: Queue, hooks: Any, caplog: pytest.LogCaptureFixture
) -> None:
    mine = job(effects="external")
    mine.send()
    hooks("external", perform=fault, not_performed=(RuntimeError,))
    (message,) = broker.messages
    with pytest.raises(RuntimeError):
        background.perform_attempt(*message)
    failed = said(caplog, "A worker's attempt failed; it may be tried again.")
    assert failed.levelno == logging.ERROR

    assert state() == "open"
    assert mine.send().status_code == 503
    assert len(broker.messages) == 2
