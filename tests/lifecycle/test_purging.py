"""Forgetting: what goes, what stays beside it, and what others do in between."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models.signals import ModelSignal, post_delete, pre_delete
from django.test.utils import CaptureQueriesContext

from poppy_operations.declarations.outcomes import Decline as Decision
from poppy_operations.lifecycle import approving, asking, finishing, purging, settling
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.models import (
    Approval,
    Decline,
    Operation,
    Performance,
    Revision,
    Settlement,
)
from tests.connections import in_the_way, just_before
from tests.lifecycle.rows import (
    ANSWER,
    ASKED,
    MINE,
    NOW,
    OTHER,
    SECOND,
    begun,
    read,
    returned,
    statement_of,
)

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


def deletions(captured: CaptureQueriesContext) -> list[str]:
    return [one["sql"] for one in captured.captured_queries if one["sql"].startswith("DELETE")]


def everything_of(slot: str) -> Revision:
    """An operation with a row in each table."""
    revision = returned(slot=slot)
    statement = statement_of(revision, "agent")
    assert approving.decline(statement, revision, Decision(), sid="ses_1", now=NOW)
    revision.operation = read(revision.operation)
    ends(revision, "performed", NOW)
    return revision


def rows() -> list[int]:
    models: list[Any] = [Operation, Revision, Approval, Decline, Performance, Settlement]
    return [model.objects.count() for model in models]


def test_there_is_one_deletion_for_each_table_however_many_go() -> None:
    for number in range(4):
        everything_of(str(number))
    assert rows() == [4] * 6
    with CaptureQueriesContext(connection) as captured:
        assert purging.forget(LONG_AFTER, 10) == 4
    assert len(deletions(captured)) == 6
    assert rows() == [0] * 6


def test_a_purge_goes_on_where_it_was_whatever_stays_behind_it() -> None:
    """Looking at what stays once more in each batch made it slower with each that stays."""
    for number in range(3):
        returned(slot=f"stays {number}", lifetime=timedelta(days=30))
        everything_of(f"goes {number}")
    keys = list(Operation.objects.order_by("pk").values_list("pk", flat=True))
    progress, gone = purging.Progress(), []
    while not progress.is_over:
        last = progress.last
        gone.append(purging.forget(LONG_AFTER, 2, progress))
        assert progress.is_over or progress.last in keys[keys.index(last) + 1 if last else 0 :]
    assert gone == [1, 1, 1, 0]
    assert rows() == [3, 3, 0, 0, 0, 0]


def test_what_cannot_be_deleted_now_is_looked_at_again() -> None:
    everything_of("one")
    progress = purging.Progress()
    with in_the_way("DELETE", 2), pytest.raises(Busy):
        purging.forget(LONG_AFTER, 10, progress)
    assert rows() == [1] * 6
    assert purging.forget(LONG_AFTER, 10, progress) == 1


def test_what_cannot_be_looked_for_now_is_told() -> None:
    returned()
    with in_the_way("SELECT", 1), pytest.raises(Busy):
        purging.forget(LONG_AFTER, 10)


@pytest.mark.parametrize("signal", [pre_delete, post_delete], ids=["before", "after"])
def test_receivers_hear_of_what_is_deleted(signal: ModelSignal) -> None:
    revision, told = everything_of("one"), []

    def hear(instance: Any, **_named: Any) -> None:
        told.append(type(instance))

    signal.connect(hear)
    try:
        assert purging.forget(LONG_AFTER, 10) == 1
    finally:
        signal.disconnect(hear)
    assert set(told) == {Operation, Revision, Approval, Decline, Performance, Settlement}
    assert not Operation.objects.filter(pk=revision.operation_id).exists()


def test_what_the_site_has_of_an_operation_goes_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Django deletes it, by the ``on_delete`` of the site's own foreign key."""
    everything_of("one")
    ours = [model for model in purging._OF_OPERATIONS if model is not Settlement]
    monkeypatch.setattr(purging, "_OF_OPERATIONS", tuple(ours))
    assert purging.forget(LONG_AFTER, 10) == 1
    assert rows() == [0] * 6
