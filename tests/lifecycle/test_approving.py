"""Recording, declining and voiding approvals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.db import OperationalError, connection

from poppy_operations.declarations.outcomes import Decline as Decision
from poppy_operations.lifecycle import approving, asking, claims, finishing
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.models import Approval, Decline, Operation, Revision
from poppy_operations.protocol.approval import ApprovalStatement
from poppy_operations.signals import approval_declined, approval_recorded
from tests.configuring import configure
from tests.connections import in_the_way, just_before
from tests.lifecycle.rows import (
    ANSWER,
    ASKED,
    MINE,
    NOW,
    OTHER,
    SECOND,
    approval_of,
    begun,
    facts,
    read,
    returned,
    statement_of,
    told_by,
)

pytestmark = [pytest.mark.django_db, pytest.mark.database]
LIMIT = Decision("Over the limit.", {"call": "us"}, rule="limit")


def record(revision: Revision, approver: str = "user") -> Approval:
    approving.record(statement_of(revision, approver), revision, sid="ses_1", now=NOW)
    return Approval.objects.get(recorded_for=revision)


def decline(revision: Revision, approver: str = "user", decision: Decision = LIMIT) -> bool:
    statement = statement_of(revision, approver)
    return approving.decline(statement, revision, decision, sid="ses_1", now=NOW)


# Record


def test_record_keeps_what_was_stated_and_changes_nothing_else() -> None:
    revision = returned(interface="website")
    before = facts(revision.operation)
    with told_by(approval_recorded, and_fails=True) as told:
        approval = record(revision)
    assert (approval.operation_id, approval.revision_id) == (revision.operation_id, revision.pk)
    assert (approval.approver, approval.sid, approval.approved_at) == ("user", "ses_1", 1791487260)
    assert (approval.input_type, approval.reference, approval.person) == ("tap", "apr_1", "")
    assert facts(revision.operation) == before
    assert told.calls[0]["approval"] == approval
    assert told.calls[0]["revision"] == revision
    assert told.in_transaction == [False]


def test_record_keeps_no_more_than_the_site_wants(settings: Any) -> None:
    configure(settings, RECORD_STATEMENTS=False)
    approval = record(returned(interface="website"))
    assert (approval.approver, approval.approved_at) == ("user", None)
    assert (approval.input_type, approval.reference) == ("", "")


def test_record_makes_up_nothing_that_was_not_stated() -> None:
    revision = returned(interface="website")
    operation_id = revision.operation.operation_id
    statement = ApprovalStatement(operation_id, revision.revision, "agent")
    assert approving.record(statement, revision, sid="ses_1", now=NOW)
    approval = Approval.objects.get()
    assert (approval.approved_at, approval.input_type, approval.reference) == (None, "", "")


def test_record_says_whether_the_record_is_its_own() -> None:
    revision = returned(interface="website")
    statement = statement_of(revision, "user")
    assert approving.record(statement, revision, sid="ses_1", now=NOW)
    assert not approving.record(statement, revision, sid="ses_1", now=NOW)


def test_record_sent_twice_at_once_is_one_record() -> None:
    revision = returned(interface="website")
    first = record(revision)
    with told_by(approval_recorded) as told:
        assert record(revision, "agent") == first
    assert told.calls == []
    assert Approval.objects.count() == 1


def test_record_while_another_revision_is_performing_leaves_the_attempt_alone() -> None:
    revision = returned(interface="website")
    begun(revision, approval=record(revision))
    before = facts(revision.operation)
    second = Revision.objects.get(pk=revision.pk)
    second.pk, second.number, second.revision, second.ref, second.watch = None, 2, "r2", "2", "2"
    second.save()
    record(second)
    assert facts(revision.operation) == before


def test_record_is_tried_once_more_and_then_busy() -> None:
    revision = returned(interface="website")
    with in_the_way("INSERT", 99), pytest.raises(Busy):
        record(revision)
    assert not Approval.objects.exists()
    with in_the_way("INSERT", 1):
        record(revision)


@pytest.mark.django_db(transaction=True)
def test_record_whose_commit_went_unheard_stays_void_where_somebody_voided_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    revision = returned(interface="website")
    commit = connection.commit

    def unheard() -> None:
        monkeypatch.undo()
        commit()
        Approval.objects.update(voided_at=NOW, voided_by="staff")
        commit()
        message = "server closed the connection unexpectedly"
        raise OperationalError(message)

    monkeypatch.setattr(connection, "commit", unheard)
    assert not approving.record(statement_of(revision), revision, sid="ses_1", now=NOW)
    assert Approval.objects.get().voided_by == "staff"


# Decline


def test_decline_shuts_out_what_was_checked_before_and_is_kept() -> None:
    revision = returned()
    seen = read(revision.operation)
    with told_by(approval_declined, and_fails=True) as told:
        assert decline(revision)
    row = Decline.objects.get()
    assert (row.approver, row.reason, row.alternative) == (
        "user",
        "Over the limit.",
        '{"call": "us"}',
    )
    assert (row.rule, row.sid, row.revision_id) == ("limit", "ses_1", revision.pk)
    after = facts(revision.operation)
    assert after["state"] == "open"
    assert after["attempt"] != seen.attempt
    assert told.calls[0]["decline"] == row
    assert told.calls[0]["revision"] == revision
    assert told.in_transaction == [False]
    assert not claims.begin(
        seen, approval_of(revision), attempt=MINE, effects="database", lease_s=60, now=NOW
    )


def test_decline_of_an_operation_that_moved_on_is_nothing() -> None:
    revision = returned()
    begun(read(revision))
    with told_by(approval_declined) as told:
        assert not decline(revision)
    assert told.calls == []
    assert not Decline.objects.exists()
    assert facts(revision.operation)["attempt"] == MINE


def test_decline_of_what_was_begun_and_opened_again_meanwhile_is_nothing() -> None:
    revision = returned()
    begun(read(revision))
    claims.release(revision.operation, MINE)
    before = facts(revision.operation)
    assert not decline(revision)
    assert not Decline.objects.exists()
    assert facts(revision.operation) == before


def test_decline_of_a_performed_operation_is_nothing() -> None:
    revision = returned()
    approval = begun(revision)
    stale = read(revision)
    finishing.finish(revision.operation, approval, ANSWER, attempt=MINE, now=NOW)
    assert not decline(stale)
    assert not decline(read(revision))
    assert not Decline.objects.exists()


def test_decline_while_another_revision_is_performing_leaves_its_attempt_alone() -> None:
    revision = returned()
    begun(revision)
    before = facts(revision.operation)
    assert decline(read(revision), decision=Decision())
    assert facts(revision.operation) == before
    row = Decline.objects.get()
    assert (row.reason, row.alternative, row.rule) == (None, None, "policy")


def test_decline_is_kept_once_for_each_approver() -> None:
    revision = returned()
    assert decline(read(revision))
    seen = facts(revision.operation)
    assert not decline(read(revision))
    assert facts(revision.operation) == seen
    assert decline(read(revision), "agent")
    assert Decline.objects.count() == 2


def test_decline_leaves_other_operations_alone() -> None:
    revision, neighbour = returned(), returned(slot="neighbour")
    Operation.objects.update(attempt=OTHER)
    before = facts(neighbour.operation)
    assert decline(Revision.objects.get(pk=revision.pk))
    assert facts(neighbour.operation) == before


def test_decline_whose_commit_failed_leaves_another_row_its_id() -> None:
    revision, neighbour = read(returned()), read(returned(slot="neighbour"))

    def another() -> None:
        assert decline(neighbour)

    with in_the_way("RELEASE", 1), just_before("SAVEPOINT", 2, another):
        assert decline(revision)
    assert {row.operation_id for row in Decline.objects.all()} == {
        revision.operation_id,
        neighbour.operation_id,
    }


def test_decline_is_tried_once_more_and_then_busy() -> None:
    revision = returned()
    with in_the_way("INSERT", 99), pytest.raises(Busy):
        decline(revision)
    assert facts(revision.operation)["attempt"] == revision.operation.attempt
    with in_the_way("INSERT", 1):
        assert decline(revision)


# Void


def void(approval: Approval) -> bool:
    return approving.void(read(approval), by="staff", because="asked to", now=NOW)


@pytest.mark.ambiguity("AMB-24")
def test_amb_24_void_takes_an_unused_approval_back_and_shuts_out_whoever_has_checked_it() -> None:
    revision = returned(interface="website")
    approval = record(revision)
    seen = read(revision.operation)
    assert void(approval)
    voided = read(approval)
    assert (voided.voided_by, voided.voided_because) == ("staff", "asked to")
    assert voided.voided_at is not None
    assert read(revision).retired_at is not None
    assert facts(revision.operation)["state"] == "open"
    assert not claims.begin(seen, approval, attempt=MINE, effects="database", lease_s=60, now=NOW)


def test_void_of_an_approval_in_use_is_too_late() -> None:
    revision = returned(interface="website")
    approval = begun(revision, approval=record(revision))
    before = facts(revision.operation)
    assert not void(approval)
    assert facts(revision.operation) == before
    assert read(approval).voided_at is None
    assert read(revision).retired_at is None


def test_void_of_an_approval_that_was_used_up_is_too_late() -> None:
    revision = returned(interface="website")
    approval = begun(revision, approval=record(revision))
    finishing.finish(revision.operation, approval, ANSWER, attempt=MINE, now=NOW)
    assert not void(approval)
    assert read(approval).voided_at is None


def test_void_leaves_other_operations_alone() -> None:
    revision, neighbour = (returned(interface="website", slot=slot) for slot in ("one", "two"))
    approval, theirs = record(revision), record(neighbour)
    before = facts(neighbour.operation)
    assert void(approval)
    assert facts(neighbour.operation) == before
    assert read(theirs).voided_at is None
    assert read(neighbour).retired_at is None


def test_void_leaves_the_approval_of_another_revision_alone() -> None:
    first = returned(interface="website")
    asked = replace(ASKED, interface="website")
    second = asking.return_revision(asked, read(first.operation), NOW)
    assert second is not None
    approval, other = record(first), record(second)
    assert void(approval)
    assert read(other).voided_at is None
    assert read(second).retired_at is None


def test_void_of_what_version_0_1_had_retired_keeps_when_it_did() -> None:
    revision = returned(interface="website")
    Revision.objects.update(retired_at=NOW - SECOND)
    assert void(record(revision))
    assert read(revision).retired_at == NOW - SECOND


def test_void_twice_is_void_once() -> None:
    approval = record(returned(interface="website"))
    assert void(approval)
    before = read(approval)
    assert not approving.void(before, by="another", because="", now=NOW)
    assert read(approval).voided_by == "staff"


def test_void_is_tried_once_more_and_then_busy() -> None:
    approval = record(returned(interface="website"))
    with in_the_way("UPDATE", 99), pytest.raises(Busy):
        void(approval)
    assert read(approval).voided_at is None
    with in_the_way("UPDATE", 1):
        assert void(approval)
