"""Purge, reconcile, requeue, and the list of what is stuck."""

from __future__ import annotations

import itertools
import json
import logging
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection, connections
from django.http import HttpResponse, HttpResponseRedirect
from django.template import engines
from django.template.response import SimpleTemplateResponse
from django.test.utils import CaptureQueriesContext

from poppy_operations import Action, NotPerformed, Performed, maintenance
from poppy_operations.declarations.registry import registry
from poppy_operations.lifecycle import asking, claims, finishing, purging, queueing
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.maintenance import Interrupted, Purged, Reconciled, batches
from poppy_operations.maintenance.stuck_operations import NEXT_STEPS
from poppy_operations.models import (
    Agent,
    Approval,
    Decline,
    Join,
    Operation,
    Performance,
    Revision,
    Settlement,
)
from poppy_operations.protocol.owner import Owner
from tests.agents import SessionOf
from tests.configuring import configure
from tests.connections import in_the_way
from tests.lifecycle.rows import (
    ANSWER,
    ASKED,
    MINE,
    NOW,
    OTHER,
    OWNER,
    SECOND,
    begun,
    facts,
    read,
    returned,
)

pytestmark = [pytest.mark.django_db, pytest.mark.database]
EXPIRED = NOW + timedelta(minutes=15)
DAY = timedelta(days=1)
FIVE_MINUTES = timedelta(minutes=5)
LEASE_OVER = NOW + timedelta(seconds=61)
UNKNOWN = {"performed": 0, "not_performed": 0, "still_unknown": 1, "freed": 0}


def counted(**ends: int) -> Reconciled:
    return Reconciled(**ends)


class Reaching:
    """An external action, and what its hook says when it is asked."""

    def __init__(self) -> None:
        self.action = Action("tests.reaching", effects="external")
        self.says: Callable[[], Any] = lambda: None
        self.asked: list[str] = []

        @self.action.reconcile
        def hook(operation: Any) -> Any:
            self.asked.append(operation.idempotency_key)
            return self.says()

    def unknown(self, slot: str = "slot", **changes: Any) -> Operation:
        """Give an operation of which nobody knows whether its attempt took effect."""
        revision = returned(action=self.action.name, slot=slot, **changes)
        begun(revision, effects="external")
        assert finishing.mark_unknown(revision.operation, MINE, NOW)
        operation: Operation = read(revision.operation)
        return operation


@pytest.fixture
def reaching() -> Iterator[Reaching]:
    found = Reaching()
    yield found
    registry.discard(found.action)


def saying(answer: Any) -> Callable[[], Any]:
    def say() -> Any:
        if isinstance(answer, type) and issubclass(answer, Exception):
            raise answer
        return answer

    return say


@contextmanager
def beginning_with(word: str, number: int, times: int = 1) -> Iterator[None]:
    """Let the database fail so many statements that begin with a word, from that one on."""
    found = 0

    def fail(execute: Callable[..., Any], sql: str, *args: Any) -> Any:
        nonlocal found
        found += sql.startswith(word)
        if sql.startswith(word) and number <= found < number + times:
            message = "database is locked"
            raise OperationalError(message)
        return execute(sql, *args)

    with connection.execute_wrapper(fail):
        yield


# Reconcile


@pytest.mark.ambiguity("AMB-35")
def test_amb_35_what_the_outside_performed_is_answered_as_the_hook_says(reaching: Reaching) -> None:
    operation = reaching.unknown()
    reaching.says = saying(Performed({"id": "tr_7"}, status=201))
    assert maintenance.reconcile(now=LEASE_OVER) == counted(performed=1)

    performance = Performance.objects.get()
    assert (performance.how, performance.status) == ("reconciled", 201)
    assert json.loads(bytes(performance.body or b"")) == {"id": "tr_7"}
    assert json.loads(performance.headers) == [["Content-Type", "application/json"]]
    assert performance.attempt == MINE
    settlement = Settlement.objects.get()
    assert (settlement.outcome, settlement.settled_by) == ("performed", "reconcile")
    assert facts(operation)["state"] == "performed"
    assert maintenance.reconcile(now=LEASE_OVER) == counted()
    assert reaching.asked == [operation.operation_id]


@pytest.mark.ambiguity("AMB-35")
def test_amb_35_what_the_outside_refuses_from_now_on_is_open_with_another_key(
    reaching: Reaching,
) -> None:
    operation = reaching.unknown()
    reaching.says = saying(NotPerformed())
    assert maintenance.reconcile(now=LEASE_OVER) == counted(not_performed=1)

    after = read(operation)
    assert (after.state, after.attempt != MINE, after.barred_keys) == ("open", True, 1)
    assert after.idempotency_key == f"{operation.operation_id}-2"
    assert Settlement.objects.get().outcome == "not_performed"
    assert not Performance.objects.exists()


@pytest.mark.ambiguity("AMB-35")
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(None, id="it does not know"),
        pytest.param(RuntimeError, id="raised"),
        # Raised by something that the hook calls, which may know less.
        pytest.param(NotPerformed, id="raised that it was not"),
        pytest.param(OperationalError, id="no database"),
        pytest.param(True, id="a boolean"),
        pytest.param({"id": "tr_7"}, id="a mapping"),
        pytest.param(Performed({"id": object()}), id="not JSON"),
        pytest.param(Performed(status=503), id="a status of a failure"),
        pytest.param(Performed(HttpResponse(status=404)), id="an answer of a failure"),
        pytest.param(Performed(SimpleTemplateResponse("no/such.html")), id="no such template"),
    ],
)
def test_amb_35_an_error_in_a_hook_means_still_unknown(
    reaching: Reaching, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    operation = reaching.unknown()
    before = facts(operation)
    reaching.says = saying(answer)
    assert maintenance.reconcile(now=LEASE_OVER) == counted(still_unknown=1)

    assert facts(operation) == before
    assert not Settlement.objects.exists()
    logged = [
        record
        for record in caplog.records
        if getattr(record, "operation_id", None) == operation.operation_id
        and record.getMessage().startswith("The reconcile hook failed; still unknown. (")
    ]
    assert len(logged) == (0 if answer is None else 1)


@pytest.mark.parametrize("by_response", [True, False])
def test_what_a_hook_gives_for_the_website_is_stored_without_its_body(
    reaching: Reaching, by_response: bool
) -> None:
    reaching.unknown(interface="website")
    result: Any = HttpResponseRedirect("/orders/1/") if by_response else {"id": "tr_7"}
    reaching.says = saying(Performed(result))
    assert maintenance.reconcile(now=LEASE_OVER) == counted(performed=1)

    performance = Performance.objects.get()
    assert performance.body is None
    assert performance.status == (302 if by_response else 200)
    assert (["Location", "/orders/1/"] in json.loads(performance.headers)) is by_response


def test_a_response_that_is_rendered_late_is_rendered_for_the_record(reaching: Reaching) -> None:
    reaching.unknown()
    template = engines["django"].from_string("done {{ what }}")
    response = SimpleTemplateResponse(template, {"what": "it"}, content_type="text/plain")
    reaching.says = saying(Performed(response))
    maintenance.reconcile(now=LEASE_OVER)

    assert bytes(Performance.objects.get().body or b"") == b"done it"


def test_a_result_that_is_too_long_is_stored_as_a_plain_statement(
    reaching: Reaching, settings: Any
) -> None:
    configure(settings, STORED_BODY_BYTES=10)
    reaching.unknown()
    reaching.says = saying(Performed({"id": "x" * 10}))
    maintenance.reconcile(now=LEASE_OVER)

    assert Performance.objects.get().body is None


def test_a_hook_is_never_asked_while_an_attempt_runs(reaching: Reaching) -> None:
    revision = returned(action=reaching.action.name)
    begun(revision, effects="external")
    assert maintenance.reconcile(now=NOW + timedelta(seconds=60)) == counted()
    assert reaching.asked == []

    assert maintenance.reconcile(now=LEASE_OVER) == counted(still_unknown=1)
    assert len(reaching.asked) == 1


def test_each_operation_is_read_again_before_its_hook_is_asked(reaching: Reaching) -> None:
    first, second = reaching.unknown("one"), reaching.unknown("two")

    def meanwhile() -> None:
        # While the hook of the first one is asked, the second one is settled and begun again.
        claims.release(second, MINE)
        begun(second.revisions.get(), effects="external", attempt=OTHER)

    reaching.says = meanwhile
    assert maintenance.reconcile(now=NOW + SECOND) == counted(still_unknown=1)
    assert reaching.asked == [first.operation_id]


def settled_by_hand_and_begun_again(operation: Operation) -> None:
    assert maintenance.settle_by_hand(read(operation), None, by="bob", because="", now=NOW)
    begun(operation.revisions.get(), effects="external", attempt=OTHER)


@pytest.mark.parametrize("answer", [Performed(), NotPerformed()])
def test_a_verdict_that_comes_after_another_attempt_has_begun_judges_nothing(
    reaching: Reaching, answer: Any
) -> None:
    operation = reaching.unknown()

    def late() -> Any:
        settled_by_hand_and_begun_again(operation)
        return answer

    reaching.says = late
    assert maintenance.reconcile(now=LEASE_OVER) == counted(still_unknown=1)

    after = read(operation)
    assert (after.state, after.attempt) == ("performing", OTHER)
    assert Settlement.objects.count() == 1
    # The outside refuses the key by now, so the attempts to come have another one.
    assert after.barred_keys == (1 if isinstance(answer, NotPerformed) else 0)


def test_two_reconcilers_judge_once(reaching: Reaching) -> None:
    operation = reaching.unknown()

    def and_the_other() -> Any:
        reaching.says = saying(NotPerformed())
        assert maintenance.reconcile(now=LEASE_OVER) == counted(not_performed=1)
        return NotPerformed()

    reaching.says = and_the_other
    assert maintenance.reconcile(now=LEASE_OVER) == counted(still_unknown=1)
    assert read(operation).barred_keys == 1
    assert Settlement.objects.count() == 1


def test_an_operation_that_was_performed_meanwhile_keeps_its_key(reaching: Reaching) -> None:
    operation = reaching.unknown()
    approval = Approval.objects.get()

    def finished() -> Any:
        finishing.finish_external(operation, approval, ANSWER, attempt=MINE, now=NOW)
        return NotPerformed()

    reaching.says = finished
    assert maintenance.reconcile(now=LEASE_OVER) == counted(still_unknown=1)
    assert (read(operation).state, read(operation).barred_keys) == ("performed", 0)


def test_what_lapsed_is_freed_whatever_the_action_is_by_now(reaching: Reaching) -> None:
    in_database = returned(action=reaching.action.name, slot="one")
    begun(in_database)
    queued = returned(action=reaching.action.name, slot="two")
    begun(queued, effects="external", queued=True)
    assert maintenance.reconcile(now=NOW + timedelta(hours=1)) == counted(freed=2)

    assert reaching.asked == []
    assert {facts(row.operation)["state"] for row in (in_database, queued)} == {"open"}


@pytest.mark.parametrize("action", ["tests.gone", "shop.buy"])
def test_without_a_hook_it_stays_unknown(action: str, caplog: pytest.LogCaptureFixture) -> None:
    """An action that is gone, which is logged, and one whose effects are in the database by now."""
    revision = returned(action=action)
    begun(revision, effects="external")
    finishing.mark_unknown(revision.operation, MINE, NOW)

    assert maintenance.reconcile(now=NOW + DAY) == counted(still_unknown=1)
    assert facts(revision.operation)["state"] == "performing"
    assert ("is not declared" in caplog.text) is (action == "tests.gone")


def test_a_database_in_the_way_leaves_it_unknown(
    reaching: Reaching, caplog: pytest.LogCaptureFixture
) -> None:
    reaching.unknown()
    reaching.says = saying(Performed())
    with in_the_way("INSERT", 2):
        assert maintenance.reconcile(now=LEASE_OVER) == counted(still_unknown=1)
    assert "unreachable or read-only; still unknown" in caplog.text
    begun(returned(slot="lapsed"))
    with in_the_way("UPDATE", 4):
        assert maintenance.reconcile(now=LEASE_OVER) == counted(still_unknown=2)
    assert maintenance.reconcile(now=LEASE_OVER) == counted(performed=1, freed=1)


def test_what_began_by_a_clock_that_was_ahead_is_freed() -> None:
    with time_machine.travel(NOW, tick=False):
        begun(returned(), now=NOW + DAY)
        begun(returned(slot="outside"), effects="external", now=NOW + DAY)
        assert [item.why for item in maintenance.stuck(now=NOW)] == ["lapsed"]
        assert maintenance.reconcile(now=NOW) == counted(freed=1)


def test_what_somebody_else_freed_first_is_not_counted(monkeypatch: Any) -> None:
    begun(returned())
    monkeypatch.setattr(claims, "free", lambda *args: False)

    assert maintenance.reconcile(now=LEASE_OVER) == counted(still_unknown=1)


def test_many_are_reconciled_in_batches(reaching: Reaching, monkeypatch: Any) -> None:
    monkeypatch.setattr(batches, "BATCH", 2)
    for number in range(5):
        reaching.unknown(f"slot {number}")
    reaching.says = saying(Performed())

    assert maintenance.reconcile(now=LEASE_OVER) == counted(performed=5)


def test_each_operation_that_reconcile_ends_is_in_the_log(
    reaching: Reaching, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "poppy_operations")
    operation, lapsed = reaching.unknown("one"), returned(slot="two").operation
    begun(lapsed.revisions.get())
    reaching.says = saying(NotPerformed())
    maintenance.reconcile(now=LEASE_OVER)

    told = [
        (record.operation_id, record.getMessage().partition(" (")[0])  # type: ignore[attr-defined]  # an extra
        for record in caplog.records
        if record.getMessage().startswith("Reconciled")
    ]
    assert told == [
        (operation.operation_id, "Reconciled: not performed."),
        (lapsed.operation_id, "Reconciled: freed."),
    ]


def test_reconcile_enqueues_again_as_well(reaching: Reaching, broker: Queue) -> None:
    waiting = returned()
    begun(waiting, queued=True)
    later = NOW + FIVE_MINUTES
    assert maintenance.reconcile(now=later, dry_run=True) == counted(requeued=1)
    assert broker.messages == []
    assert maintenance.reconcile(now=later) == counted(requeued=1)
    assert broker.messages == [(waiting.operation.operation_id, MINE)]


def test_a_database_that_gets_in_the_way_of_reconciling_leaves_what_was_ended(
    reaching: Reaching, monkeypatch: Any
) -> None:
    monkeypatch.setattr(batches, "BATCH", 1)
    first, second = reaching.unknown("one"), reaching.unknown("two")
    reaching.says = saying(Performed())
    with beginning_with("SELECT", 4), pytest.raises(Interrupted) as raised:
        maintenance.reconcile(now=LEASE_OVER)
    assert raised.value.done == counted(performed=1)
    assert (read(first).state, read(second).state) == ("performed", "performing")


def test_a_dry_run_asks_nobody_and_frees_nothing(reaching: Reaching) -> None:
    unknown, lapsed = reaching.unknown("one"), returned(slot="two")
    begun(lapsed)
    before = [facts(unknown), facts(lapsed.operation)]

    assert maintenance.reconcile(now=LEASE_OVER, dry_run=True) == counted(still_unknown=1, freed=1)
    assert [facts(unknown), facts(lapsed.operation)] == before
    assert reaching.asked == []


# Settling by hand


@pytest.mark.parametrize(
    ("performed", "error"), [(Performed(status=503), ValueError), (True, TypeError)]
)
def test_an_answer_given_by_hand_has_to_be_one(
    reaching: Reaching, performed: Any, error: type[Exception]
) -> None:
    operation = reaching.unknown()
    with pytest.raises(error):
        maintenance.settle_by_hand(operation, performed, by="bob", because="", now=LEASE_OVER)
    assert read(operation).state == "performing"


def test_what_a_person_settles_keeps_its_key(reaching: Reaching) -> None:
    operation = reaching.unknown()
    settle = maintenance.settle_by_hand
    assert not settle(returned(slot="other").operation, None, by="bob", because="why")
    assert settle(operation, None, by="bob", because="why")

    assert read(operation).barred_keys == 0
    assert Settlement.objects.get().settled_by == "bob"


def test_a_person_who_looked_at_an_earlier_attempt_judges_nothing(reaching: Reaching) -> None:
    looked_at = reaching.unknown()
    settled_by_hand_and_begun_again(looked_at)

    assert not maintenance.settle_by_hand(looked_at, None, by="alice", because="", now=LEASE_OVER)
    assert read(looked_at).attempt == OTHER
    assert read(looked_at).barred_keys == 0
    assert Settlement.objects.get().settled_by == "bob"


# What is stuck


def test_what_does_not_end_by_itself_is_listed_the_oldest_first(reaching: Reaching) -> None:
    unknown = reaching.unknown("one")
    hookless = returned(action="shop.buy", slot="two")
    begun(hookless, effects="external", lease_s=10)
    gone = returned(action="tests.gone", slot="three")
    begun(gone, effects="external", lease_s=20)
    lapsed = returned(slot="four")
    begun(lapsed, lease_s=30)
    running = returned(slot="five")
    begun(running, lease_s=3600)
    found = maintenance.stuck(now=LEASE_OVER)

    assert [(item.operation_id, item.why) for item in found] == [
        (unknown.operation_id, "unknown outcome"),
        (hookless.operation.operation_id, "no reconcile hook"),
        (gone.operation.operation_id, "action gone"),
        (lapsed.operation.operation_id, "lapsed"),
    ]
    assert [item.needs_somebody for item in found] == [True, True, True, False]
    assert (found[0].action, found[0].interface) == (reaching.action.name, "api")
    assert found[0].since == NOW


def test_what_is_stuck_says_whose_it_is_where_to_look_and_what_to_do(reaching: Reaching) -> None:
    operation = reaching.unknown()
    reaching.says = saying(NotPerformed())
    maintenance.reconcile(now=LEASE_OVER)
    begun(operation.revisions.get(), effects="external", approval=Approval.objects.get())
    (found,) = maintenance.stuck(now=LEASE_OVER)

    assert found.idempotency_key == f"{operation.operation_id}-2"
    assert (found.client_id, found.account) == (OWNER.client_id, None)
    assert found.admin_path == f"/admin/poppy_operations/operation/{operation.pk}/change/"
    assert found.next_step.startswith("Run poppy_reconcile.")


def test_without_the_admin_what_is_stuck_has_no_page(reaching: Reaching, settings: Any) -> None:
    reaching.unknown()
    settings.ROOT_URLCONF = "poppy_operations.urls"
    (found,) = maintenance.stuck(now=LEASE_OVER)
    assert found.admin_path == ""


def statements_of(work: Callable[[], Any]) -> list[str]:
    with CaptureQueriesContext(connection) as queries:
        work()
    return [query["sql"] for query in queries if query["sql"].startswith("SELECT")]


def test_the_list_of_what_is_stuck_reads_no_terms_and_costs_the_same_for_one_and_for_many(
    reaching: Reaching,
) -> None:
    for number in range(3):
        reaching.unknown(f"slot {number}")
    first, last = statements_of(lambda: maintenance.stuck(now=LEASE_OVER))
    assert "terms" not in first + last


def test_reconcile_reads_the_terms_of_each_operation_once(reaching: Reaching) -> None:
    for number in range(3):
        reaching.unknown(f"slot {number}")
    read_by = statements_of(lambda: maintenance.reconcile(now=LEASE_OVER))
    assert sum("terms" in sql for sql in read_by) == 3
    # Two look for operations, one for what waits in a queue.
    assert len(read_by) == 3 + 2 + 1
    assert not any("terms" in sql for sql in statements_of(dry_run))


def dry_run() -> Reconciled:
    return maintenance.reconcile(now=LEASE_OVER, dry_run=True)


# Requeue


class Queue:
    """A queue that keeps its messages, unless it is down."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, str]] = []
        self.takes = 1000

    def __call__(self, operation_id: str, attempt: str) -> None:
        if len(self.messages) >= self.takes:
            message = "connection refused"
            raise ConnectionError(message)
        self.messages.append((operation_id, attempt))


queue = Queue()


@pytest.fixture
def broker(settings: Any) -> Queue:
    configure(settings, QUEUE="tests.maintenance.test_maintenance.queue")
    queue.__init__()  # type: ignore[misc]  # empty again
    return queue


def test_attempts_that_no_worker_started_are_enqueued_again(broker: Queue) -> None:
    waiting = returned(slot="one")
    begun(waiting, queued=True)
    started = returned(slot="two")
    begun(started, queued=True, attempt=OTHER)
    queueing.start(read(started.operation), OTHER, NOW)
    begun(returned(slot="three"), attempt="c" * 32)
    message = (waiting.operation.operation_id, MINE)

    assert maintenance.requeue(now=NOW + FIVE_MINUTES - SECOND) == 0
    assert maintenance.requeue(now=NOW + FIVE_MINUTES, dry_run=True) == 1
    assert broker.messages == []
    assert maintenance.requeue(now=NOW + FIVE_MINUTES) == 1
    assert maintenance.requeue(now=NOW + 3 * FIVE_MINUTES) == 1
    assert broker.messages == [message, message]
    assert maintenance.requeue(now=NOW + 4 * FIVE_MINUTES) == 0


def test_a_queue_that_is_behind_gets_one_message_of_an_attempt_in_five_minutes(
    broker: Queue,
) -> None:
    for number in range(3):
        begun(returned(slot=f"slot {number}"), queued=True)
    runs = [maintenance.requeue(now=NOW + timedelta(minutes=minute)) for minute in range(1, 15)]

    assert runs == [0, 0, 0, 0, 3, 0, 0, 0, 0, 3, 0, 0, 0, 0]
    assert len(broker.messages) == 6


def test_two_runs_at_once_enqueue_an_attempt_once(
    broker: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(returned(), queued=True)
    claim, others = queueing.enqueue_again, []

    def second_run_first(*args: Any) -> bool:
        monkeypatch.setattr(queueing, "enqueue_again", claim)
        others.append(maintenance.requeue(now=NOW + FIVE_MINUTES))
        return claim(*args)

    monkeypatch.setattr(queueing, "enqueue_again", second_run_first)
    assert maintenance.requeue(now=NOW + FIVE_MINUTES) == 0
    assert others == [1]
    assert len(broker.messages) == 1


def test_what_waits_for_a_revoked_agent_is_not_enqueued_again(broker: Queue) -> None:
    begun(returned(), queued=True)
    begun(returned(slot="nobody's", owner=Owner(None, None, "u1")), queued=True)
    Agent.objects.create(client_id=OWNER.client_id)
    later = NOW + FIVE_MINUTES
    assert maintenance.requeue(now=later, dry_run=True) == 2
    maintenance.revoke(str(OWNER.client_id))

    assert maintenance.requeue(now=later, dry_run=True) == 1
    assert maintenance.requeue(now=later) == 1
    assert len(broker.messages) == 1


def test_a_database_in_the_way_of_enqueuing_again_interrupts_reconcile(broker: Queue) -> None:
    begun(returned(), queued=True)
    with in_the_way("UPDATE", 1), pytest.raises(Interrupted, match="requeued 0") as told:
        maintenance.reconcile(now=NOW + FIVE_MINUTES)
    assert told.value.done == Reconciled()
    assert broker.messages == []


def test_a_queue_that_takes_nothing_is_tried_again_later(
    broker: Queue, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(3):
        begun(returned(slot=f"slot {number}"), queued=True)
    broker.takes = 2

    assert maintenance.requeue(now=NOW + FIVE_MINUTES) == 2
    assert "2 were enqueued again" in caplog.text
    broker.takes = 1000
    assert maintenance.requeue(now=NOW + 2 * FIVE_MINUTES) == 3


# Purge


def everything_of(revision: Revision) -> None:
    approval = begun(revision, effects="external")
    finishing.mark_unknown(revision.operation, MINE, NOW)
    maintenance.settle_by_hand(read(revision.operation), None, by="bob", because="", now=NOW)
    Decline.objects.create(
        operation=revision.operation, revision=revision, approver="agent", declined_at=NOW
    )
    finishing.finish_external(revision.operation, approval, ANSWER, attempt=MINE, now=NOW)


def rows() -> list[int]:
    models = (Operation, Revision, Approval, Decline, Performance, Settlement)
    return [model.objects.count() for model in models]


@pytest.mark.requirement("OPS-7-04", "OPS-7-06")
@pytest.mark.ambiguity("AMB-08")
def test_amb_08_an_operation_is_remembered_a_day_beyond_all_its_revisions() -> None:
    first = returned()
    later = NOW + timedelta(minutes=5)
    second = asking.return_revision(ASKED, read(first.operation), later)
    assert second is not None
    everything_of(first)
    last_moment = second.expires_at + DAY

    assert maintenance.purge(now=last_moment) == Purged(0, 0)
    assert rows() == [1, 2, 1, 1, 1, 1]
    gone = last_moment + SECOND
    assert maintenance.purge(now=gone, dry_run=True) == Purged(1, 0)
    assert rows() == [1, 2, 1, 1, 1, 1]
    assert maintenance.purge(now=gone) == Purged(1, 0)
    assert rows() == [0] * 6


@pytest.mark.requirement("OPS-7-05")
@pytest.mark.parametrize("fate", ["performing", "unknown", "queued"])
def test_what_is_performing_or_of_unknown_outcome_is_never_forgotten(fate: str) -> None:
    revision = returned()
    begun(revision, effects="external", queued=fate == "queued")
    if fate == "unknown":
        finishing.mark_unknown(revision.operation, MINE, NOW)

    assert maintenance.purge(now=EXPIRED + timedelta(days=365)) == Purged(0, 0)
    assert read(revision.operation).state == "performing"


def test_it_goes_in_small_batches(monkeypatch: Any) -> None:
    for number in range(5):
        returned(slot=f"slot {number}")
    sizes: list[int] = []
    forget = purging.forget

    def watched(*arguments: Any) -> int:
        sizes.append(forget(*arguments))
        return sizes[-1]

    monkeypatch.setattr(purging, "forget", watched)
    assert maintenance.purge(now=EXPIRED + 2 * DAY, batch=2) == Purged(5, 0)
    assert sizes == [2, 2, 1, 0]


def test_a_database_in_the_way_of_a_purge_is_told() -> None:
    returned()
    with in_the_way("DELETE", 2), pytest.raises(Busy):
        maintenance.purge(now=EXPIRED + 2 * DAY)
    assert rows()[0] == 1


@pytest.mark.slow
def test_a_purge_that_the_database_interrupts_says_what_was_forgotten_before(
    monkeypatch: Any,
) -> None:
    for number in range(3):
        returned(slot=f"slot {number}")
    forget, calls = purging.forget, itertools.count()

    def once(*arguments: Any) -> int:
        if next(calls):
            raise Busy
        return forget(*arguments)

    monkeypatch.setattr(purging, "forget", once)
    with pytest.raises(Interrupted, match="it stays: operations 2, joins 0") as told:
        maintenance.purge(now=EXPIRED + 2 * DAY, batch=2)
    assert told.value.done == Purged(2, 0)
    assert rows()[0] == 1


def test_joins_that_are_over_are_forgotten_in_batches(signed_in: SessionOf) -> None:
    for _ in range(3):
        signed_in.browser()
    now = Join.objects.latest("expires_at").expires_at + DAY
    assert maintenance.purge(now=now - timedelta(seconds=30), dry_run=True).joins <= 2

    assert maintenance.purge(now=now + SECOND, dry_run=True) == Purged(0, 3)
    assert maintenance.purge(now=now + SECOND, batch=2) == Purged(0, 3)
    assert not Join.objects.exists()


@contextmanager
def beside(work: Callable[[], Any], *, stop_at: str) -> Iterator[list[Any]]:
    """Have another connection do something, and wait in its transaction for a while.

    It stops at its first statement that contains a word; the block runs meanwhile. What it gave
    back, or raised, is known after the block.
    """
    stopped, go_on = threading.Event(), threading.Event()
    outcome: list[Any] = []

    def stop(execute: Callable[..., Any], sql: str, *args: Any) -> Any:
        if sql.startswith(stop_at) and not stopped.is_set():
            stopped.set()
            go_on.wait(10)
        return execute(sql, *args)

    def run() -> None:
        try:
            with connection.execute_wrapper(stop):
                outcome.append(work())
        except Exception as error:  # noqa: BLE001  for the test to look at
            outcome.append(error)
        finally:
            connections.close_all()
            stopped.set()

    thread = threading.Thread(target=run)
    thread.start()
    # Long enough for the block to come to where it has to wait for the other transaction.
    timer = threading.Timer(0.7, go_on.set)
    try:
        assert stopped.wait(10)
        timer.start()
        yield outcome
    finally:
        thread.join(20)
        timer.cancel()


LONG_AFTER = EXPIRED + 2 * DAY


@pytest.mark.django_db(transaction=True)
def test_what_is_returned_again_while_it_is_purged_stays(own_connections: None) -> None:
    operation = returned().operation

    def ask() -> Revision | None:
        return asking.return_revision(ASKED, read(operation), LONG_AFTER)

    with beside(ask, stop_at="INSERT INTO") as asked:
        assert purging.forget(LONG_AFTER, 10) == 0
    assert isinstance(asked[0], Revision)
    assert set(Revision.objects.values_list("number", flat=True)) == {1, 2}


@pytest.mark.django_db(transaction=True)
def test_what_is_begun_while_it_is_purged_stays(own_connections: None) -> None:
    revision = returned()

    def begin() -> None:
        begun(revision, now=LONG_AFTER, effects="external")

    with beside(begin, stop_at="INSERT INTO") as begins:
        assert purging.forget(LONG_AFTER, 10) == 0
    assert begins == [None]
    assert facts(revision.operation)["state"] == "performing"


def purge_meanwhile() -> int:
    return purging.forget(LONG_AFTER, 10)


@pytest.mark.django_db(transaction=True)
def test_an_ask_that_meets_a_purge_returns_a_new_operation(own_connections: None) -> None:
    operation = returned().operation
    with beside(purge_meanwhile, stop_at="DELETE FROM") as purged:
        further = asking.return_revision(ASKED, operation, LONG_AFTER)
        assert further is None
        anew = asking.return_operation(ASKED, LONG_AFTER)
    assert purged == [1]
    assert anew is not None
    assert [row.pk for row in Operation.objects.all()] == [anew.operation_id]


@pytest.mark.django_db(transaction=True)
def test_a_begin_that_meets_a_purge_has_lost(own_connections: None) -> None:
    revision = returned()
    approval = begun(revision)
    claims.release(revision.operation, MINE)
    operation = read(revision.operation)
    with beside(purge_meanwhile, stop_at="DELETE FROM") as purged:
        options = {"attempt": OTHER, "effects": "external", "lease_s": 60, "now": LONG_AFTER}
        with suppress(Busy):  # as some databases tell it
            assert not claims.begin(operation, approval, **options)
    assert purged == [1]
    assert rows() == [0] * 6


@pytest.mark.django_db(transaction=True)
def test_a_late_end_that_meets_a_purge_is_told_as_lost(own_connections: None) -> None:
    revision = returned()
    approval = begun(revision, effects="external")
    finishing.mark_unknown(revision.operation, MINE, NOW)
    maintenance.settle_by_hand(read(revision.operation), None, by="bob", because="", now=NOW)
    with beside(purge_meanwhile, stop_at="DELETE FROM") as purged:
        end = finishing.finish_external(
            revision.operation, approval, ANSWER, attempt=MINE, now=LONG_AFTER
        )
    assert purged == [1]
    assert end is finishing.Finish.LOST
    assert rows() == [0] * 6


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("first", ["settle", "finish"])
def test_a_verdict_and_a_late_end_that_meet_are_both_on_record(
    own_connections: None, reaching: Reaching, first: str
) -> None:
    operation = reaching.unknown()
    approval = Approval.objects.get()

    def settle() -> bool:
        examined = read(operation)
        return maintenance.settle_by_hand(examined, None, by="bob", because="", now=LEASE_OVER)

    def finish() -> finishing.Finish:
        return finishing.finish_external(operation, approval, ANSWER, attempt=MINE, now=LEASE_OVER)

    works: dict[str, Callable[[], Any]] = {"settle": settle, "finish": finish}
    (second,) = works.keys() - {first}
    with beside(works[first], stop_at="INSERT INTO") as done:
        met = works[second]()
    if first == "settle":
        assert (done, met) == ([True], finishing.Finish.LATE)
    else:
        assert (done, met) == ([finishing.Finish.FINISHED], False)
    assert read(operation).state == "performed"
    assert Performance.objects.count() == 1
    assert Settlement.objects.count() == (1 if first == "settle" else 0)


@pytest.mark.django_db(transaction=True)
def test_two_purges_forget_once(own_connections: None) -> None:
    for number in range(3):
        returned(slot=f"slot {number}")
    with beside(purge_meanwhile, stop_at="DELETE FROM") as purged:
        second = purging.forget(LONG_AFTER, 10)
    assert (purged, second) == ([3], 0)
    assert rows() == [0] * 6


# The commands


def told(name: str, *arguments: str, capsys: Any) -> str:
    call_command(name, *arguments)
    printed: str = capsys.readouterr().out
    return printed


def test_the_commands_have_nothing_to_do_at_first(db: None, capsys: Any) -> None:
    purge = told("poppy_purge", capsys=capsys)
    assert purge == "Forgot 0 operations and 0 joins.\n"
    nothing = "Performed: 0. Not performed: 0. Still unknown: 0. Freed: 0. Enqueued again: 0.\n"
    assert told("poppy_reconcile", capsys=capsys) == nothing
    assert told("poppy_stuck", "--fail", capsys=capsys) == "Stuck: 0. Need somebody: 0.\n"
    assert json.loads(told("poppy_stuck", "--json", capsys=capsys)) == []


def test_poppy_purge_forgets_and_counts(capsys: Any) -> None:
    returned()
    Operation.objects.update(created_at=NOW - timedelta(days=3650))
    Revision.objects.update(expires_at=NOW - timedelta(days=3650))
    dry = told("poppy_purge", "--dry-run", capsys=capsys)

    assert dry == "Would forget 1 operations and 0 joins.\n"
    counts = json.loads(told("poppy_purge", "--json", capsys=capsys))
    assert counts == {"operations": 1, "joins": 0}


def test_poppy_reconcile_asks_and_counts(reaching: Reaching, broker: Queue, capsys: Any) -> None:
    reaching.unknown()
    reaching.says = saying(NotPerformed())
    begun(returned())
    dry = told("poppy_reconcile", "--dry-run", capsys=capsys)
    assert dry == (
        "Unknown: 1. Would free: 1. Would enqueue again: 0. "
        "Nobody was asked, and nothing was changed.\nSee poppy_stuck for what is unknown.\n"
    )
    counts = json.loads(told("poppy_reconcile", "--json", capsys=capsys))

    assert counts == {**UNKNOWN, "still_unknown": 0, "not_performed": 1, "freed": 1, "requeued": 0}


def test_poppy_reconcile_says_where_to_look_for_what_stays_unknown(
    reaching: Reaching, capsys: Any
) -> None:
    reaching.unknown()
    assert told("poppy_reconcile", capsys=capsys) == (
        "Performed: 0. Not performed: 0. Still unknown: 1. Freed: 0. Enqueued again: 0.\n"
        "See poppy_stuck for what is unknown.\n"
    )


IN_THE_WAY = "The database is locked, unreachable or read-only: database is locked."


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["poppy_purge"], f"{IN_THE_WAY} Done before, and it stays: operations 0"),
        (["poppy_purge", "--dry-run"], f"{IN_THE_WAY} Done before"),
        (
            ["poppy_reconcile"],
            f"{IN_THE_WAY} Done before, and it stays: performed 0, not performed 0, "
            "still unknown 0, freed 0, requeued 0. Run it again.",
        ),
        (["poppy_stuck"], f"{IN_THE_WAY} Run it again."),
        (["poppy_agents", "list"], f"{IN_THE_WAY} It may be half done. Run it again."),
    ],
)
def test_a_database_in_the_way_of_a_command_is_said_in_a_sentence(
    command: list[str], says: str
) -> None:
    # Durable writes are tried twice.
    with beginning_with("SELECT", 1, times=2), pytest.raises(CommandError, match=re.escape(says)):
        call_command(*command)


@pytest.mark.parametrize(
    "command", [["poppy_purge"], ["poppy_reconcile"], ["poppy_stuck"], ["poppy_agents", "list"]]
)
@pytest.mark.parametrize("missing", ["a table", "a column"])
def test_what_does_not_pass_is_not_to_be_run_again(command: list[str], missing: str) -> None:
    # As SQLite says it of a table, and MariaDB of a column.
    text = "no such table: poppy"
    error = OperationalError(text) if missing == "a table" else OperationalError(1054, text)
    error.__cause__ = sqlite3.OperationalError(text)
    if missing == "a table":
        error.__cause__.sqlite_errorname = "SQLITE_ERROR"
    with (
        in_the_way("SELECT", 2, error) as hindrance,
        pytest.raises(OperationalError, match="no such table"),
    ):
        call_command(*command)

    assert hindrance.times == 1


def test_who_settles_and_why_is_text(reaching: Reaching, alice: Any) -> None:
    operation = read(reaching.unknown())
    for given in ({"by": alice, "because": "asked"}, {"by": "alice", "because": None}):
        with pytest.raises(TypeError, match=r"(by|because)= is text, such as str\(user\), not an"):
            maintenance.settle_by_hand(operation, None, **given)
    assert not Settlement.objects.exists()


def test_a_revocation_that_the_database_interrupts_is_busy(session_of: Any) -> None:
    client_id = session_of().agent.client_id
    with in_the_way("UPDATE", 1), pytest.raises(Busy, match="database is locked"):
        maintenance.revoke(client_id)


def test_poppy_stuck_says_what_to_do_about_each_operation(reaching: Reaching, capsys: Any) -> None:
    operation = reaching.unknown("one", owner=Owner("https://agent.example/client", "u1", "7"))
    lapsed = returned(slot="two").operation
    begun(lapsed.revisions.get())
    page = f"/admin/poppy_operations/operation/{operation.pk}/change/"

    assert (
        told("poppy_stuck", capsys=capsys)
        == f"""\
{operation.operation_id} tests.reaching, unknown outcome since 2026-10-08T19:00:00+00:00
  idempotency key: {operation.operation_id}
  agent:           https://agent.example/client
  account:         7
  admin:           {page}
  next:            {NEXT_STEPS["unknown outcome"]}
{lapsed.operation_id} shop.buy, lapsed since 2026-10-08T19:01:00+00:00
  next:            Nothing: the next request or poppy_reconcile frees it.
Stuck: 2. Need somebody: 1.
"""
    )
    assert json.loads(told("poppy_stuck", "--json", capsys=capsys))[0] == {
        "operation_id": operation.operation_id,
        "action": "tests.reaching",
        "interface": "api",
        "since": NOW.isoformat(),
        "why": "unknown outcome",
        "needs_somebody": True,
        "next_step": NEXT_STEPS["unknown outcome"],
        "idempotency_key": operation.operation_id,
        "client_id": "https://agent.example/client",
        "account": "7",
        "admin_path": page,
    }


def test_poppy_stuck_fails_for_monitoring_where_something_needs_somebody(
    reaching: Reaching, settings: Any, capsys: Any
) -> None:
    begun(returned(slot="lapsed"))
    call_command("poppy_stuck", "--fail")
    reaching.unknown(owner=Owner(None, None, None))
    settings.ROOT_URLCONF = "poppy_operations.urls"
    with pytest.raises(CommandError, match="Operations that need somebody: 1") as failed:
        call_command("poppy_stuck", "--fail")
    assert failed.value.returncode == 1
    listed = capsys.readouterr().out
    assert "agent:           none" in listed
    assert "account:         signed out" in listed
    assert "admin:           not installed" in listed


def test_results_are_spelled_for_machines() -> None:
    assert json.loads(maintenance.as_json(Purged(1, 2))) == {"operations": 1, "joins": 2}
