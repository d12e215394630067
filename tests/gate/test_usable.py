"""Which approvals can still be used: the gate says so in Python, and the admin asks in SQL."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from poppy_operations.admin.deciding import unused_approvals
from poppy_operations.admin.filters import HAPPENINGS
from poppy_operations.declarations.outcomes import Decline as Decision
from poppy_operations.gate.approvals import declined_before, is_named
from poppy_operations.gate.named import named_by
from poppy_operations.gate.revisions import (
    is_usable,
    live_revisions,
    revision_of_ref,
    revision_of_watch,
)
from poppy_operations.lifecycle import approving, claims, finishing
from poppy_operations.models import Approval, Operation, Revision
from tests.lifecycle.rows import (
    ANSWER,
    MINE,
    NOW,
    OWNER,
    SECOND,
    approval_of,
    begun,
    read,
    returned,
    statement_of,
)

pytestmark = [pytest.mark.django_db, pytest.mark.database]
Story = Callable[[Approval], object]


def declined(approval: Approval) -> None:
    _decline(approval, approval.approver)


def declined_of_the_other_approver(approval: Approval) -> None:
    _decline(approval, "user" if approval.approver == "agent" else "agent")


def _decline(approval: Approval, approver: str) -> None:
    revision = approval.revision
    revision.operation = read(revision.operation)
    statement = statement_of(revision, approver)
    assert approving.decline(statement, revision, Decision(), sid="ses_1", now=NOW)


def voided(approval: Approval) -> None:
    assert approving.void(approval, by="bob", because="asked", now=NOW)


def voided_alone(approval: Approval) -> None:
    """The row says so by itself, whatever became of its revision."""
    Approval.objects.filter(pk=approval.pk).update(voided_at=NOW)


def retired(approval: Approval) -> None:
    """As version 0.1 retired the revisions of a row that it did not void."""
    Revision.objects.filter(pk=approval.revision_id).update(retired_at=NOW)


def performing(approval: Approval) -> None:
    begun(approval.revision, approval=approval)


def released(approval: Approval) -> None:
    performing(approval)
    assert claims.release(approval.operation, MINE)


def unknown(approval: Approval) -> None:
    begun(approval.revision, approval=approval, effects="external")
    assert finishing.mark_unknown(approval.operation, MINE, NOW)


def performed(approval: Approval) -> None:
    performing(approval)
    assert finishing.finish(approval.operation, approval, ANSWER, attempt=MINE, now=NOW)


def superseded(approval: Approval) -> None:
    """The operation has got another revision, at other terms."""
    newer = read(approval.revision)
    newer.pk, newer.number, newer.revision, newer.ref, newer.watch = None, 2, "r2", "r2", "w2"
    newer.save(force_insert=True)


# What happens to an approval, whether it could be used afterwards if its operation were open, and
# whether the operation is open.
STORIES: dict[str, tuple[Story, bool, bool]] = {
    "nothing": (lambda _approval: None, True, True),
    "declined": (declined, False, True),
    "declined of the other approver": (declined_of_the_other_approver, True, True),
    "voided": (voided, False, True),
    "retired": (retired, False, True),
    "superseded": (superseded, True, True),
    "released": (released, True, True),
    "performing": (performing, True, False),
    "unknown": (unknown, True, False),
    "performed": (performed, True, False),
}
EXPIRES = (NOW + timedelta(minutes=15)).replace(microsecond=0)
# The last second counts to its end.
TIMES = {
    "long before": (NOW, True),
    "at the expiry": (EXPIRES, True),
    "within the last second": (EXPIRES + SECOND - timedelta(microseconds=1), True),
    "after it": (EXPIRES + SECOND, False),
    "long after": (EXPIRES + timedelta(days=1), False),
}
BY_TIME = pytest.mark.parametrize(("now", "in_time"), TIMES.values(), ids=TIMES)
# What is sent is no row yet, so that only the revision tells that an earlier row of it is void.
RECORDED = {**STORIES, "voided alone": (voided_alone, False, True)}


def by(stories: dict[str, tuple[Story, bool, bool]]) -> pytest.MarkDecorator:
    """Try each story."""
    names = ("story", "stays_good", "is_open")
    return pytest.mark.parametrize(names, stories.values(), ids=stories)


def found_by_the_admin(approval: Approval, now: datetime) -> bool:
    return approval in unused_approvals(approval.operation, now)


def waits(approval: Approval, now: datetime) -> bool:
    _label, condition = HAPPENINGS["waiting"]
    return Operation.objects.filter(condition(now), pk=approval.operation_id).exists()


@BY_TIME
@by(RECORDED)
def test_a_recorded_approval_can_be_used_as_the_gate_and_the_database_say_alike(
    story: Story, stays_good: bool, is_open: bool, now: datetime, in_time: bool
) -> None:
    revision = returned(interface="website")
    assert approving.record(statement_of(revision, "agent"), revision, sid="ses_1", now=NOW)
    approval = Approval.objects.select_related("revision", "operation").get()
    story(approval)
    expected = stays_good and in_time
    by_reference, by_watch = (
        revision_of_ref(revision.ref or ""),
        revision_of_watch(revision.watch or ""),
    )
    assert by_reference is not None
    assert by_watch is not None
    assert is_usable(by_reference, now) is is_usable(by_watch, now) is expected
    live = [row for row in live_revisions(OWNER, now) if is_usable(row, now)]
    if is_open:
        assert [row.pk for row in live if row.record.pk == approval.pk] == [revision.pk] * expected
    assert found_by_the_admin(approval, now) is expected
    assert waits(approval, now) is (expected and is_open)


@BY_TIME
@by(STORIES)
def test_an_approval_that_is_sent_can_be_used_as_the_gate_and_the_database_say_alike(
    story: Story, stays_good: bool, is_open: bool, now: datetime, in_time: bool
) -> None:
    revision = returned()
    released(approval_of(revision))
    approval = Approval.objects.select_related("revision", "operation").get()
    story(approval)
    expected = stays_good and in_time
    statement = statement_of(revision)
    found = named_by(statement.operation_id, statement.revision, statement.approver)
    assert found is not None
    assert found.revision is not None
    named = found.revision
    goes_on = is_named(named, statement, now) and declined_before(named, statement) is None
    assert goes_on is expected
    assert found_by_the_admin(approval, now) is expected
    assert waits(approval, now) is (expected and is_open)
