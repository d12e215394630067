"""Forgetting: what goes, what stays beside it, and what others do in between."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from poppy_operations.lifecycle import asking, finishing, purging, settling
from poppy_operations.models import Operation, Performance, Revision, Settlement
from tests.connections import just_before
from tests.lifecycle.rows import ANSWER, ASKED, MINE, NOW, OTHER, SECOND, begun, read, returned

pytestmark = [pytest.mark.django_db, pytest.mark.database]
LONG_AFTER = NOW + timedelta(days=3)


def test_forget_of_nothing_is_nothing() -> None:
    returned()
    assert purging.forget(NOW, 10) == 0
    assert Operation.objects.count() == 1


def test_what_is_still_remembered_keeps_nothing_else() -> None:
    old = returned()
    recent = asking.return_operation(replace(ASKED, slot="recent"), LONG_AFTER)
    assert recent is not None
    assert purging.forget(LONG_AFTER, 10) == 1
    assert [row.pk for row in Operation.objects.all()] == [recent.operation_id]
    assert old.operation_id != recent.operation_id


def ends(revision: Revision, how: str, at: datetime) -> None:
    """End an external attempt at that time."""
    approval = begun(revision, effects="external")
    if how == "finished":
        finishing.finish_external(revision.operation, approval, ANSWER, attempt=MINE, now=at)
    else:
        finishing.mark_unknown(revision.operation, MINE, NOW)
        answer = ANSWER if how == "performed" else None
        examined = read(revision.operation)
        assert settling.settle(examined, answer, how="settled", by="bob", because="", now=at)


ENDS = ["finished", "performed", "not performed"]


@pytest.mark.requirement("OPS-7-06")
@pytest.mark.parametrize("how", ENDS)
def test_what_ended_late_is_remembered_a_day_beyond_its_end(how: str) -> None:
    """Until then its agent was told that it is being performed, and may not know better yet."""
    revision = returned()
    ends(revision, how, LONG_AFTER)
    day = timedelta(days=1)
    assert not purging.forgettable(LONG_AFTER + day).exists()
    assert purging.forget(LONG_AFTER + day, 10) == 0
    assert purging.forget(LONG_AFTER + day + SECOND, 10) == 1


@pytest.mark.parametrize("moment", [1, 2])
@pytest.mark.parametrize("how", ENDS)
def test_what_ends_while_it_is_held_stays(how: str, moment: int) -> None:
    revision, neighbour = returned(), returned(slot="neighbour")
    ends(revision, how, NOW)

    def end_late() -> None:
        Performance.objects.update(finished_at=LONG_AFTER)
        Settlement.objects.update(settled_at=LONG_AFTER)

    with just_before("UPDATE", moment, end_late):
        assert purging.forget(LONG_AFTER, 10) == 1
    assert Operation.objects.get().pk == revision.operation_id != neighbour.operation_id


def becomes(operation: Operation, state: str, attempt: str) -> None:
    Operation.objects.filter(pk=operation.pk).update(state=state, attempt=attempt)


def test_what_is_begun_just_before_it_is_held_stays() -> None:
    begins, neighbour = returned(), returned(slot="neighbour")
    with just_before("UPDATE", 1, lambda: becomes(begins.operation, "performing", MINE)):
        assert purging.forget(LONG_AFTER, 10) == 1
    assert read(begins.operation).attempt == MINE
    assert not Operation.objects.filter(pk=neighbour.operation_id).exists()


def test_what_could_not_be_held_stays_although_it_is_open_again() -> None:
    """Its revisions were not looked for while nobody else could return one."""
    operation = returned().operation
    with ExitStack() as meanwhile:
        begins = just_before("UPDATE", 1, lambda: becomes(operation, "performing", MINE))
        ends = just_before("UPDATE", 3, lambda: becomes(operation, "open", OTHER))
        meanwhile.enter_context(begins)
        meanwhile.enter_context(ends)
        assert purging.forget(LONG_AFTER, 10) == 0
    assert read(operation).attempt == OTHER


def test_what_is_returned_again_before_the_second_look_stays() -> None:
    operation = returned().operation

    def return_again() -> None:
        operation.revisions.update(expires_at=LONG_AFTER)

    with just_before("UPDATE", 2, return_again):
        assert purging.forget(LONG_AFTER, 10) == 0
    assert read(operation).state == "open"
