"""Forgetting: what goes, what stays beside it, and what others do in between."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta

import pytest

from poppy_operations.lifecycle import asking, purging
from poppy_operations.models import Operation
from tests.lifecycle.rows import ASKED, MINE, NOW, OTHER, just_before, read, returned

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
