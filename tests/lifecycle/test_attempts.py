"""The transitions of an attempt: begin, start, finish, release, free, unknown."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db.models import F

from poppy_operations.lifecycle import claims, finishing, queueing
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.lifecycle.finishing import Finish
from poppy_operations.models import Approval, Operation, Performance, Revision
from poppy_operations.models.databases import write_alias
from poppy_operations.protocol.stored_answer import StoredAnswer
from poppy_operations.signals import operation_performed, outcome_unknown
from tests.configuring import configure
from tests.connections import in_the_way
from tests.lifecycle.rows import (
    ANSWER,
    MINE,
    NOW,
    OTHER,
    SECOND,
    approval_of,
    begun,
    facts,
    read,
    returned,
    told_by,
)

pytestmark = [pytest.mark.django_db, pytest.mark.database]
MINUTE = timedelta(minutes=1)
OPEN_AGAIN = {
    "state": "open",
    "approval_id": None,
    "lease_until": None,
    "started_at": None,
    "outcome_unknown_since": None,
}


@pytest.fixture
def revision(db: None) -> Revision:
    return returned()


def assert_open_again(operation: Operation, was: str) -> None:
    after = facts(operation)
    assert {**after, **OPEN_AGAIN} == after
    assert after["attempt"] not in {was, ""}
    assert after["slot"] is not None
    assert not Performance.objects.filter(operation=operation).exists()


# Begin


def begin(operation: Operation, approval: Approval, **options: Any) -> bool:
    options = {"attempt": MINE, "effects": "database", "lease_s": 60, "now": NOW, **options}
    return claims.begin(operation, approval, **options)


def test_begin_claims_an_open_operation_and_stores_the_approval(revision: Revision) -> None:
    approval = approval_of(revision)
    before = facts(revision.operation)
    assert begin(revision.operation, approval)
    assert facts(revision.operation) == {
        **before,
        "state": "performing",
        "attempt": MINE,
        "approval_id": approval.pk,
        "effects": "database",
        "lease_s": 60,
        "lease_until": NOW + MINUTE,
        "started_at": NOW,
    }
    assert read(approval).recorded_for is None


def test_begin_uses_a_recorded_approval_as_it_is(revision: Revision) -> None:
    approval = approval_of(revision)
    approval.save()
    assert begin(revision.operation, approval)
    assert Approval.objects.count() == 1


def test_begin_of_a_performing_operation_is_lost(revision: Revision) -> None:
    begun(revision)
    before = facts(revision.operation)
    assert not begin(read(revision.operation), approval_of(revision), attempt=OTHER)
    assert facts(revision.operation) == before
    assert Approval.objects.count() == 1


def test_begin_of_a_performed_operation_is_lost(revision: Revision) -> None:
    approval = begun(revision)
    finishing.finish(revision.operation, approval, ANSWER, attempt=MINE, now=NOW)
    assert not begin(read(revision.operation), approval_of(revision), attempt=OTHER)
    assert facts(revision.operation)["state"] == "performed"


def test_begin_with_an_attempt_that_was_seen_before_something_changed_is_lost(
    revision: Revision,
) -> None:
    stale = read(revision.operation)
    begun(revision)
    claims.release(revision.operation, MINE)
    assert not begin(stale, approval_of(revision), attempt=OTHER)
    assert facts(revision.operation)["state"] == "open"
    assert Approval.objects.count() == 1


@pytest.mark.parametrize(
    ("effects", "had", "length"),
    [("database", 240, 240), ("database", 30, 60), ("external", 240, 60)],
)
def test_begin_keeps_a_lease_that_take_overs_made_longer(
    revision: Revision, effects: str, had: int, length: int
) -> None:
    Operation.objects.update(lease_s=had)
    begun(read(revision), effects=effects)
    after = facts(revision.operation)
    assert after["lease_s"] == length
    assert after["lease_until"] == NOW + timedelta(seconds=length)


@pytest.mark.parametrize("effects", ["database", "external"])
def test_begin_for_a_worker_has_the_queues_lease_and_is_not_started(
    revision: Revision, effects: str
) -> None:
    begun(revision, effects=effects, queued=True)
    after = facts(revision.operation)
    assert after["started_at"] is None
    assert after["enqueued_at"] == NOW
    assert after["lease_until"] == NOW + timedelta(minutes=15)
    assert after["lease_s"] == 60


def test_the_site_says_how_long_its_queue_may_take(revision: Revision, settings: Any) -> None:
    lease = timedelta(hours=2)
    configure(settings, QUEUE_LEASE=lease)
    begun(revision, queued=True)
    assert facts(revision.operation)["lease_until"] == NOW + lease


@pytest.mark.parametrize("word", ["UPDATE", "INSERT"])
def test_begin_is_busy_at_the_first_failure_and_leaves_nothing(
    revision: Revision, word: str
) -> None:
    before = facts(revision.operation)
    with in_the_way(word, 1), pytest.raises(Busy):
        begin(revision.operation, approval_of(revision))
    assert facts(revision.operation) == before
    assert not Approval.objects.exists()


# Enqueue again


def test_of_two_that_enqueue_an_attempt_again_one_does(revision: Revision) -> None:
    begun(revision, queued=True)
    before, seen, later = facts(revision.operation), read(revision.operation), NOW + MINUTE
    assert queueing.enqueue_again(seen, later)
    assert not queueing.enqueue_again(seen, later + SECOND)
    assert facts(revision.operation) == {**before, "enqueued_at": later}


def test_what_a_worker_has_started_is_not_enqueued_again(revision: Revision) -> None:
    begun(revision, queued=True)
    seen = read(revision.operation)
    queueing.start(seen, MINE, NOW)
    assert not queueing.enqueue_again(seen, NOW + MINUTE)
    assert facts(revision.operation)["enqueued_at"] == NOW


def test_the_attempt_after_the_one_that_was_seen_is_not_enqueued_again(revision: Revision) -> None:
    approval = begun(revision, queued=True)
    seen = read(revision.operation)
    queueing.release_unstarted(seen, MINE)
    begun(revision, queued=True, approval=approval, attempt=OTHER)
    assert not queueing.enqueue_again(seen, NOW + MINUTE)
    assert facts(revision.operation)["enqueued_at"] == NOW


def test_enqueuing_again_is_busy_at_the_first_failure(revision: Revision) -> None:
    begun(revision, queued=True)
    with in_the_way("UPDATE", 1), pytest.raises(Busy):
        queueing.enqueue_again(read(revision.operation), NOW + MINUTE)
    assert facts(revision.operation)["enqueued_at"] == NOW


# Start


def test_start_gives_a_queued_attempt_a_lease_from_now(revision: Revision) -> None:
    begun(revision, queued=True)
    before = facts(revision.operation)
    later = NOW + timedelta(minutes=5)
    assert queueing.start(read(revision.operation), MINE, later)
    assert facts(revision.operation) == {
        **before,
        "started_at": later,
        "lease_until": later + MINUTE,
    }


def test_start_of_a_message_that_came_twice_finds_it_started(revision: Revision) -> None:
    begun(revision, queued=True)
    operation = read(revision.operation)
    assert queueing.start(operation, MINE, NOW + SECOND)
    before = facts(revision.operation)
    assert not queueing.start(operation, MINE, NOW + MINUTE)
    assert facts(revision.operation) == before


def test_start_of_another_attempt_or_of_one_that_is_over_does_nothing(revision: Revision) -> None:
    begun(revision, queued=True)
    before = facts(revision.operation)
    assert not queueing.start(read(revision.operation), OTHER, NOW)
    assert facts(revision.operation) == before
    claims.release(revision.operation, MINE)
    assert not queueing.start(read(revision.operation), MINE, NOW)
    assert facts(revision.operation)["state"] == "open"


def test_start_is_busy_at_the_first_failure(revision: Revision) -> None:
    begun(revision, queued=True)
    with in_the_way("UPDATE", 1), pytest.raises(Busy):
        queueing.start(read(revision.operation), MINE, NOW)
    assert facts(revision.operation)["started_at"] is None


# Hold


def test_hold_tells_whether_the_attempt_has_the_claim(revision: Revision) -> None:
    assert not claims.hold(revision.operation, MINE)
    begun(revision)
    before = facts(revision.operation)
    assert claims.hold(revision.operation, MINE)
    assert not claims.hold(revision.operation, OTHER)
    assert facts(revision.operation) == before


# Finish, database


def finish(revision: Revision, approval: Approval, **options: Any) -> bool:
    options = {"attempt": MINE, "now": NOW + SECOND, **options}
    return finishing.finish(revision.operation, approval, ANSWER, **options)


def test_finish_performs_and_keeps_the_answer(revision: Revision) -> None:
    approval = begun(revision)
    assert finish(revision, approval)
    after = facts(revision.operation)
    assert (after["state"], after["slot"], after["lease_until"]) == ("performed", None, None)
    assert (after["attempt"], after["approval_id"]) == (MINE, approval.pk)
    performance = Performance.objects.get(operation=revision.operation)
    assert (performance.revision_id, performance.approval_id) == (revision.pk, approval.pk)
    assert (performance.attempt, performance.how, performance.status) == (MINE, "finished", 201)
    assert json.loads(performance.headers) == [["Location", "/done/"]]
    assert bytes(performance.body or b"") == b"{}"
    assert performance.finished_at == NOW + SECOND


def test_finish_in_review_keeps_the_slot(revision: Revision) -> None:
    approval = begun(revision)
    slot = facts(revision.operation)["slot"]
    revision.operation.interface = Operation.Interface.REVIEW
    assert finish(revision, approval)
    assert facts(revision.operation)["slot"] == slot


def test_finish_of_an_attempt_that_nobody_took_over_is_good_after_its_lease(
    revision: Revision,
) -> None:
    approval = begun(revision)
    assert finish(revision, approval, now=NOW + timedelta(days=1))


def test_finish_of_an_attempt_that_was_taken_over_does_nothing(revision: Revision) -> None:
    approval = begun(revision)
    claims.free(read(revision.operation), NOW + timedelta(hours=1))
    before = facts(revision.operation)
    assert not finish(revision, approval)
    begun(revision, attempt=OTHER)
    assert not finish(revision, approval)
    assert facts(revision.operation)["attempt"] == OTHER
    assert before["state"] == "open"
    assert not Performance.objects.exists()


def test_finish_of_a_performed_operation_does_nothing(revision: Revision) -> None:
    approval = begun(revision)
    assert finish(revision, approval)
    assert not finish(revision, approval)
    assert Performance.objects.count() == 1


# Finish, external


def finish_external(revision: Revision, approval: Approval, **options: Any) -> Finish:
    options = {"attempt": MINE, "now": NOW + SECOND, **options}
    return finishing.finish_external(revision.operation, approval, ANSWER, **options)


def test_finish_external_performs_and_keeps_the_answer(revision: Revision) -> None:
    approval = begun(revision, effects="external")
    assert finish_external(revision, approval) is Finish.FINISHED
    after = facts(revision.operation)
    assert (after["state"], after["slot"]) == ("performed", None)
    assert Performance.objects.get().how == "finished"


def test_finish_external_after_it_was_marked_unknown_is_no_longer_unknown(
    revision: Revision,
) -> None:
    approval = begun(revision, effects="external")
    finishing.mark_unknown(revision.operation, MINE, NOW)
    assert finish_external(revision, approval) is Finish.FINISHED
    assert facts(revision.operation)["outcome_unknown_since"] is None


@pytest.mark.parametrize("is_taken_over", [False, True])
def test_finish_external_of_an_attempt_that_was_given_up_is_late_and_performed(
    revision: Revision, is_taken_over: bool
) -> None:
    approval = begun(revision, effects="external")
    claims.release(revision.operation, MINE)
    if is_taken_over:
        begun(revision, effects="external", attempt=OTHER)
    assert finish_external(revision, approval) is Finish.LATE
    after = facts(revision.operation)
    assert (after["state"], after["slot"]) == ("performed", None)
    performance = Performance.objects.get()
    assert (performance.how, performance.attempt) == ("late", MINE)
    assert not begin(read(revision.operation), approval_of(revision))


def test_finish_external_of_a_performed_operation_is_lost_and_keeps_the_first_answer(
    revision: Revision,
) -> None:
    approval = begun(revision, effects="external")
    claims.release(revision.operation, MINE)
    second = begun(revision, effects="external", attempt=OTHER)
    first = finish_external(revision, second, attempt=OTHER)
    assert (first, finish_external(revision, approval)) == (Finish.FINISHED, Finish.LOST)
    assert Performance.objects.get().attempt == OTHER


def test_finish_external_is_not_told_how_another_operation_ended(revision: Revision) -> None:
    approval = begun(revision, effects="external")
    claims.release(revision.operation, MINE)
    second = begun(revision, effects="external", attempt=OTHER)
    assert finish_external(revision, second, attempt=OTHER) is Finish.FINISHED
    neighbour = returned(slot="neighbour")
    assert finish(neighbour, begun(neighbour))
    assert finish_external(revision, approval) is Finish.LOST


def test_finish_external_in_review_keeps_the_slot(revision: Revision) -> None:
    approval = begun(revision, effects="external")
    revision.operation.interface = Operation.Interface.REVIEW
    finish_external(revision, approval)
    assert facts(revision.operation)["slot"] is not None


def test_finish_external_is_tried_once_more_and_then_busy(revision: Revision) -> None:
    approval = begun(revision, effects="external")
    with in_the_way("INSERT", 99), pytest.raises(Busy):
        finish_external(revision, approval)
    assert facts(revision.operation)["state"] == "performing"
    with in_the_way("INSERT", 1):
        assert finish_external(revision, approval) is Finish.FINISHED


def test_a_performance_is_told_with_the_row_as_it_was_committed(revision: Revision) -> None:
    approval = begun(revision)
    with told_by(operation_performed, and_fails=True) as told:
        finishing.finish(revision.operation, approval, StoredAnswer(200), attempt=MINE, now=NOW)
        finishing.tell_performed(revision, approval, late=True)
    assert told.calls == [
        {
            "operation": revision.operation,
            "revision": revision,
            "approval": approval,
            "performance": Performance.objects.get(),
            "late": True,
            "signal": operation_performed,
        }
    ]
    assert told.calls[0]["operation"].state == told.stored[0] == "performed"
    assert told.calls[0]["operation"].approval_id == approval.pk
    assert told.calls[0]["operation"].slot is None
    assert told.calls[0]["performance"].status == 200


def test_a_performance_is_told_as_one_in_time_unless_it_is_said_otherwise(
    revision: Revision,
) -> None:
    approval = begun(revision)
    finishing.finish(revision.operation, approval, ANSWER, attempt=MINE, now=NOW)
    with told_by(operation_performed) as told:
        finishing.tell_performed(revision, approval)
    assert told.calls[0]["late"] is False


# Release


@pytest.mark.parametrize("effects", ["database", "external"])
def test_release_opens_the_operation_to_other_attempts(revision: Revision, effects: str) -> None:
    begun(revision, effects=effects)
    assert claims.release(revision.operation, MINE)
    assert_open_again(revision.operation, MINE)
    assert facts(revision.operation)["lease_s"] == 60


def test_release_of_another_attempt_does_nothing(revision: Revision) -> None:
    begun(revision)
    before = facts(revision.operation)
    assert not claims.release(revision.operation, OTHER)
    assert facts(revision.operation) == before


def test_release_of_an_open_or_performed_operation_does_nothing(revision: Revision) -> None:
    seen = facts(revision.operation)
    assert not claims.release(revision.operation, seen["attempt"])
    assert facts(revision.operation) == seen
    approval = begun(revision)
    finish(revision, approval)
    assert not claims.release(revision.operation, MINE)
    assert facts(revision.operation)["state"] == "performed"


def test_release_is_tried_once_more_and_then_busy(revision: Revision) -> None:
    begun(revision)
    with in_the_way("UPDATE", 99), pytest.raises(Busy):
        claims.release(revision.operation, MINE)
    with in_the_way("UPDATE", 1):
        assert claims.release(revision.operation, MINE)


# The answer of a worker that refused


REFUSED = StoredAnswer(409, [("Content-Type", "image/png")], b"\x89PNG\x00")


def refused(revision: Revision, answer: StoredAnswer = REFUSED) -> Operation:
    """A worker's attempt that ended with an answer for one repeat, as it is read then."""
    begun(revision, queued=True)
    queueing.start(read(revision.operation), MINE, NOW)
    text = queueing.worker_answer_text(revision, answer)
    assert claims.release(revision.operation, MINE, text)
    operation: Operation = read(revision.operation)
    return operation


@pytest.mark.parametrize("answer", [REFUSED, StoredAnswer(204), StoredAnswer(410, (), b"")])
def test_a_refusal_is_kept_as_it_was(revision: Revision, answer: StoredAnswer) -> None:
    found = queueing.worker_answer(refused(revision, answer), revision)
    assert found is not None
    assert (found.status, found.body) == (answer.status, answer.body)
    assert list(found.headers) == list(answer.headers)


def test_a_refusal_is_of_one_revision(revision: Revision) -> None:
    operation = refused(revision)
    assert queueing.worker_answer(operation, Revision(revision="another one")) is None
    assert queueing.worker_answer(revision.operation, revision) is None  # as it was read before


def test_a_refusal_is_taken_once(revision: Revision) -> None:
    operation, other = refused(revision), refused(returned(slot="other"))
    before = facts(operation)
    assert queueing.take_worker_answer(operation)
    assert not queueing.take_worker_answer(operation)
    assert facts(operation) == {**before, "refusal": None}
    assert facts(other)["refusal"] is not None


def test_a_refusal_is_not_taken_by_who_read_the_operation_before_it_changed(
    revision: Revision,
) -> None:
    operation = refused(revision)
    Operation.objects.update(attempt=OTHER)
    assert not queueing.take_worker_answer(operation)
    assert facts(operation)["refusal"] is not None


def test_taking_a_refusal_is_busy_at_the_first_failure(revision: Revision) -> None:
    operation = refused(revision)
    with in_the_way("UPDATE", 1), pytest.raises(Busy):
        queueing.take_worker_answer(operation)
    assert facts(operation)["refusal"] is not None


def test_whoever_begins_again_leaves_no_refusal(revision: Revision) -> None:
    operation = refused(revision)
    assert begin(operation, approval_of(revision), attempt=OTHER)
    assert facts(operation)["refusal"] is None


def test_an_attempt_that_was_taken_over_leaves_no_refusal(revision: Revision) -> None:
    begun(revision, attempt=OTHER)
    assert not claims.release(revision.operation, MINE, "[]")
    assert facts(revision.operation)["refusal"] is None


def test_release_unstarted_spares_what_a_worker_has_started(revision: Revision) -> None:
    begun(revision, queued=True)
    queueing.start(read(revision.operation), MINE, NOW)
    assert not queueing.release_unstarted(revision.operation, MINE)
    assert facts(revision.operation)["state"] == "performing"


def test_release_unstarted_opens_what_no_worker_has_started(revision: Revision) -> None:
    begun(revision, queued=True)
    assert queueing.release_unstarted(revision.operation, MINE)
    assert_open_again(revision.operation, MINE)


# Free


@pytest.mark.parametrize(
    ("effects", "queued", "after", "frees"),
    [
        ("database", False, timedelta(seconds=60), False),
        ("database", False, timedelta(seconds=61), True),
        ("external", False, timedelta(days=30), False),
        ("database", True, timedelta(minutes=15), False),
        ("database", True, timedelta(minutes=16), True),
        ("external", True, timedelta(minutes=15), False),
        ("external", True, timedelta(minutes=16), True),
    ],
)
def test_free_opens_only_what_can_do_nothing_any_more(
    revision: Revision, effects: str, queued: bool, after: timedelta, frees: bool
) -> None:
    begun(revision, effects=effects, queued=queued)
    before = facts(revision.operation)
    operation = read(revision.operation)
    assert claims.is_lapsed(operation, NOW + after) is frees
    assert claims.free(operation, NOW + after) is frees
    if frees:
        assert_open_again(revision.operation, MINE)
        assert facts(revision.operation)["lease_s"] == 120
    else:
        assert facts(revision.operation) == before


def test_free_spares_an_external_attempt_that_a_worker_has_started(revision: Revision) -> None:
    begun(revision, effects="external", queued=True)
    seen = read(revision.operation)
    queueing.start(seen, MINE, NOW)
    assert claims.is_lapsed(seen, NOW + timedelta(days=1))
    assert not claims.free(seen, NOW + timedelta(days=1))
    assert facts(revision.operation)["state"] == "performing"


def test_free_spares_an_attempt_that_came_since_it_was_looked_at(revision: Revision) -> None:
    begun(revision)
    seen = read(revision.operation)
    claims.release(revision.operation, MINE)
    begun(revision, attempt=OTHER)
    before = facts(revision.operation)
    assert not claims.free(seen, NOW + timedelta(days=1))
    assert facts(revision.operation) == before


def test_free_of_an_open_or_performed_operation_does_nothing(revision: Revision) -> None:
    long_after = NOW + timedelta(days=1)
    assert not claims.is_lapsed(revision.operation, long_after)
    assert not claims.free(revision.operation, long_after)
    finish(revision, begun(revision))
    performed = read(revision.operation)
    assert not claims.is_lapsed(performed, long_after)
    assert not claims.free(performed, long_after)
    assert facts(performed)["state"] == "performed"


def test_free_doubles_the_lease_up_to_an_hour(revision: Revision) -> None:
    lengths: list[int] = []
    now = NOW
    for _ in range(8):
        begun(revision, now=now)
        now += timedelta(hours=2)
        assert claims.free(read(revision.operation), now)
        lengths.append(facts(revision.operation)["lease_s"])
    assert lengths == [120, 240, 480, 960, 1920, 3600, 3600, 3600]


def test_free_is_tried_once_more_and_then_busy(revision: Revision) -> None:
    begun(revision)
    lapsed = NOW + timedelta(hours=1)
    with in_the_way("UPDATE", 99), pytest.raises(Busy):
        claims.free(read(revision.operation), lapsed)
    with in_the_way("UPDATE", 1):
        assert claims.free(read(revision.operation), lapsed)


# Unknown


def test_unknown_is_noted_and_told(revision: Revision) -> None:
    begun(revision, effects="external")
    before = facts(revision.operation)
    operation = revision.operation  # as it was before the claim
    with told_by(outcome_unknown, and_fails=True) as told:
        assert finishing.mark_unknown(operation, MINE, NOW + SECOND)
    assert facts(operation) == {**before, "outcome_unknown_since": NOW + SECOND}
    assert [(call["operation"].pk, call["attempt"]) for call in told.calls] == [
        (operation.pk, MINE)
    ]
    assert told.in_transaction == [False]
    assert told.calls[0]["operation"].outcome_unknown_since == NOW + SECOND
    assert told.calls[0]["operation"].state == told.stored[0] == "performing"


def test_unknown_of_another_attempt_or_of_none_is_not_noted(revision: Revision) -> None:
    with told_by(outcome_unknown) as told:
        assert not finishing.mark_unknown(revision.operation, MINE, NOW)
        begun(revision, effects="external")
        assert not finishing.mark_unknown(revision.operation, OTHER, NOW)
    assert told.calls == []
    assert facts(revision.operation)["outcome_unknown_since"] is None


def test_unknown_is_tried_once_more_and_then_busy(revision: Revision) -> None:
    begun(revision, effects="external")
    with in_the_way("UPDATE", 99), pytest.raises(Busy):
        finishing.mark_unknown(revision.operation, MINE, NOW)
    with in_the_way("UPDATE", 1):
        assert finishing.mark_unknown(revision.operation, MINE, NOW)


def test_every_decision_is_made_where_it_is_written() -> None:
    assert write_alias() == "default"


# A clock that was ahead


AHEAD = {
    "database": {"effects": "database"},
    "queued": {"effects": "external", "queued": True},
    "queued database": {"effects": "database", "queued": True},
}


def both_say(operation: Operation, now: datetime) -> bool:
    """Whether an attempt lapsed, as Python and the database say alike."""
    stored = read(operation)
    says = claims.is_lapsed(stored, now)
    found = Operation.objects.filter(claims.lapsed(now), pk=operation.pk)
    assert found.exists() is says
    return says


@pytest.mark.parametrize("options", AHEAD.values(), ids=AHEAD)
def test_an_attempt_that_began_by_a_clock_that_was_ahead_is_not_waited_for(
    revision: Revision, options: dict[str, Any]
) -> None:
    with time_machine.travel(NOW, tick=False):
        begun(revision, now=NOW + MINUTE, **options)
        assert not both_say(revision.operation, NOW)
        assert not claims.free(read(revision.operation), NOW)
        just_past = NOW + MINUTE + timedelta(microseconds=1)
        Operation.objects.update(
            lease_until=F("lease_until") + timedelta(microseconds=1),
            started_at=None if "queued" in options else just_past,
        )
        assert both_say(revision.operation, NOW)
        assert claims.free(read(revision.operation), NOW)
    assert facts(revision.operation)["state"] == "open"


def test_an_attempt_that_began_after_a_long_request_came_is_not_taken_for_ahead(
    revision: Revision,
) -> None:
    later = NOW + timedelta(minutes=5)
    with time_machine.travel(later, tick=False):
        begun(revision, now=later)
        assert not both_say(revision.operation, NOW)
        assert not claims.free(read(revision.operation), NOW)


def test_an_external_attempt_that_began_by_a_clock_that_was_ahead_is_never_freed(
    revision: Revision,
) -> None:
    with time_machine.travel(NOW, tick=False):
        begun(revision, effects="external", now=NOW + timedelta(days=1))
        assert not both_say(revision.operation, NOW)
        assert not claims.free(read(revision.operation), NOW)


@pytest.mark.parametrize("state", ["open", "performed"])
def test_only_an_attempt_can_be_ahead(revision: Revision, state: str) -> None:
    Operation.objects.update(state=state, effects="database", started_at=NOW + timedelta(days=1))
    with time_machine.travel(NOW, tick=False):
        assert not both_say(revision.operation, NOW)
        Operation.objects.update(state="performing")
        assert not both_say(revision.operation, NOW)  # has no lease
