"""Ending an outcome that nobody knew."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from poppy_operations.lifecycle import claims, finishing, settling
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.models import Approval, Operation, Performance, Revision, Settlement
from poppy_operations.protocol.stored_answer import StoredAnswer
from poppy_operations.signals import operation_settled
from tests.connections import in_the_way, just_before
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
LEASE_OVER = NOW + timedelta(seconds=61)


@pytest.fixture
def revision(db: None) -> Revision:
    return returned()


def settle(operation: Operation, answer: StoredAnswer | None, now: datetime = LEASE_OVER) -> bool:
    how = Performance.How.RECONCILED
    return settling.settle(operation, answer, how=how, by="bob", because="asked", now=now)


@pytest.mark.parametrize("outcome", ["performed", "not_performed"])
@pytest.mark.parametrize("because_of", ["unknown", "lease"])
def test_settle_ends_what_ended_as_unknown_or_whose_lease_is_over(
    revision: Revision, outcome: str, because_of: str
) -> None:
    approval = begun(revision, effects="external")
    now = LEASE_OVER
    if because_of == "unknown":
        finishing.mark_unknown(revision.operation, MINE, NOW)
        now = NOW + SECOND
    operation = read(revision.operation)
    with told_by(operation_settled, and_fails=True) as told:
        assert settle(operation, ANSWER if outcome == "performed" else None, now)
    row = Settlement.objects.get()
    unknown_since = NOW if because_of == "unknown" else None
    assert (row.started_at, row.unknown_since) == (NOW, unknown_since)
    assert (row.outcome, row.attempt, row.settled_by, row.because) == (
        outcome,
        MINE,
        "bob",
        "asked",
    )
    after = facts(operation)
    assert (after["outcome_unknown_since"], after["lease_until"]) == (None, None)
    if outcome == "performed":
        performance = Performance.objects.get()
        assert (after["state"], after["slot"]) == ("performed", None)
        assert (performance.how, performance.attempt) == ("reconciled", MINE)
        assert performance.approval_id == approval.pk
    else:
        assert (after["state"], after["approval_id"]) == ("open", None)
        assert after["attempt"] != MINE
        assert not Performance.objects.exists()
    assert told.calls[0]["settlement"] == row
    assert told.calls[0]["operation"].state == told.stored[0] == after["state"]
    assert told.in_transaction == [False]


@pytest.mark.parametrize("answer", [ANSWER, None])
def test_settle_spares_an_attempt_that_may_still_run(revision: Revision, answer: Any) -> None:
    begun(revision, effects="external")
    before = facts(revision.operation)
    assert not settle(read(revision.operation), answer, NOW + timedelta(seconds=60))
    assert facts(revision.operation) == before
    assert not Settlement.objects.exists()


@pytest.mark.parametrize("answer", [ANSWER, None])
def test_settle_judges_only_the_attempt_that_was_examined(revision: Revision, answer: Any) -> None:
    begun(revision, effects="external")
    examined = read(revision.operation)
    claims.release(revision.operation, MINE)
    begun(revision, effects="external", attempt=OTHER)
    before = facts(revision.operation)
    with told_by(operation_settled) as told:
        assert not settle(examined, answer)
    assert facts(revision.operation) == before
    assert told.calls == []
    assert not Settlement.objects.exists()


def test_settle_of_a_performed_operation_does_nothing(revision: Revision) -> None:
    approval = begun(revision, effects="external")
    examined = read(revision.operation)
    finishing.finish_external(revision.operation, approval, ANSWER, attempt=MINE, now=NOW)
    assert not settle(examined, None)
    assert not settle(read(revision.operation), ANSWER)
    assert facts(revision.operation)["state"] == "performed"


def test_settle_of_an_operation_without_an_attempt_is_a_mistake(revision: Revision) -> None:
    with pytest.raises(ValueError, match="has no attempt to settle"):
        settle(revision.operation, None)


def test_settle_in_review_keeps_the_slot() -> None:
    revision = returned(interface="review")
    begun(revision, effects="external")
    assert settle(read(revision.operation), ANSWER)
    assert facts(revision.operation)["slot"] is not None


@pytest.mark.parametrize("answer", [ANSWER, None])
def test_settle_is_tried_once_more_and_then_busy(revision: Revision, answer: Any) -> None:
    begun(revision, effects="external")
    before = facts(revision.operation)
    with in_the_way("INSERT", 99), pytest.raises(Busy):
        settle(read(revision.operation), answer)
    assert facts(revision.operation) == before
    with in_the_way("INSERT", 1):
        assert settle(read(revision.operation), answer)


@pytest.mark.parametrize("answer", [ANSWER, None])
@pytest.mark.parametrize(
    ("effects", "queued"), [("database", False), ("database", True), ("external", True)]
)
def test_settle_spares_what_is_freed_instead(
    revision: Revision, effects: str, queued: bool, answer: Any
) -> None:
    begun(revision, effects=effects, queued=queued)
    before = facts(revision.operation)
    operation = read(revision.operation)
    long_after = NOW + timedelta(days=1)
    assert not settling.can_settle(operation, long_after)
    assert not settle(operation, answer, long_after)
    assert facts(revision.operation) == before


def test_what_can_be_settled_is_what_settle_settles(revision: Revision) -> None:
    assert not settling.can_settle(read(revision.operation), LEASE_OVER)
    approval = begun(revision, effects="external")
    assert not settling.can_settle(read(revision.operation), NOW)
    assert settling.can_settle(read(revision.operation), LEASE_OVER)
    finishing.mark_unknown(revision.operation, MINE, NOW)
    assert settling.can_settle(read(revision.operation), NOW)
    finishing.finish_external(revision.operation, approval, ANSWER, attempt=MINE, now=NOW)
    assert not settling.can_settle(read(revision.operation), LEASE_OVER)


def test_a_lease_is_not_over_at_its_last_moment(revision: Revision) -> None:
    begun(revision, effects="external")
    operation = read(revision.operation)
    last_moment = NOW + timedelta(seconds=60)
    assert not settling.can_settle(operation, last_moment)
    assert not settle(operation, None, last_moment)
    just_after = last_moment + timedelta(microseconds=1)
    assert settling.can_settle(operation, just_after)
    assert settle(operation, None, just_after)


def test_settle_whose_commit_failed_leaves_another_row_its_id(revision: Revision) -> None:
    neighbour = returned(slot="neighbour")
    for each in (revision, neighbour):
        begun(each, effects="external")

    def another() -> None:
        assert settle(read(neighbour.operation), None)

    with in_the_way("RELEASE", 1), just_before("SAVEPOINT", 2, another):
        assert settle(read(revision.operation), None)
    assert {row.operation_id for row in Settlement.objects.all()} == {
        revision.operation_id,
        neighbour.operation_id,
    }


@pytest.mark.parametrize(("how", "barred"), [("reconciled", 1), ("settled", 0)])
def test_only_reconcile_has_barred_the_key_of_what_was_not_performed(
    revision: Revision, how: str, barred: int
) -> None:
    begun(revision, effects="external")
    operation = read(revision.operation)
    assert settling.settle(operation, None, how=how, by="bob", because="", now=LEASE_OVER)
    assert read(operation).barred_keys == barred


def test_a_key_that_was_barred_while_a_person_settled_first_is_remembered(
    revision: Revision,
) -> None:
    begun(revision, effects="external")
    neighbour = returned(slot="neighbour")
    examined = read(revision.operation)
    by_person = {"how": "settled", "by": "bob", "because": "", "now": LEASE_OVER}
    assert settling.settle(read(revision.operation), None, **by_person)
    assert not settle(examined, None)
    assert not settle(examined, None)
    assert read(examined).barred_keys == 1
    assert read(neighbour.operation).barred_keys == 0
    assert Settlement.objects.count() == 1


def recorded(revision: Revision) -> Approval:
    approval = approval_of(revision)
    approval.recorded_for = revision
    approval.save()
    return approval


def test_settle_as_not_performed_voids_what_it_is_told_to_in_the_same_commit() -> None:
    revision = returned(interface="website")
    approval = recorded(revision)
    begun(revision, effects="external", approval=approval)
    operation = read(revision.operation)
    settled = settling.settle(
        operation,
        None,
        how="settled",
        by="bob",
        because="asked",
        now=LEASE_OVER,
        void=[approval.pk],
    )
    assert settled
    assert read(approval).voided_by == "bob"
    assert read(revision).retired_at is not None


def test_settle_voids_no_approval_of_another_operation(revision: Revision) -> None:
    neighbour = returned(interface="website", slot="neighbour")
    theirs = recorded(neighbour)
    begun(revision, effects="external")
    settled = settling.settle(
        read(revision.operation),
        None,
        how="settled",
        by="bob",
        because="asked",
        now=LEASE_OVER,
        void=[theirs.pk],
    )
    assert settled
    assert read(theirs).voided_at is None
    assert read(neighbour).retired_at is None
