"""What gives way is gone, and nothing that came to it meanwhile is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from poppy_operations.lifecycle import approving, asking
from poppy_operations.models import Approval, Operation, Revision
from tests.lifecycle.rows import ASKED, NOW, read, returned, statement_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]
WAIT_S = 20
SLOW = 0.5


@pytest.fixture(autouse=True)
def server() -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite lets one write after the other")


@pytest.fixture
def beside() -> Iterator[Callable[..., Any]]:
    """Do something in another connection."""

    def with_its_own_connection(deed: Callable[[], Any]) -> Any:
        try:
            return deed()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        yield lambda deed: pool.submit(with_its_own_connection, deed)


def test_of_an_approval_that_is_being_recorded_and_its_revision_both_stay_or_neither(
    beside: Callable[..., Any],
) -> None:
    revision = returned(interface="website")
    is_recorded = True
    try:
        with transaction.atomic():
            approval = approving.stated(statement_of(revision), revision, sid="ses_1", now=NOW)
            approval.recorded_for = revision
            approval.save(force_insert=True)
            gives_way = beside(lambda: asking.give_way(revision))
            Event().wait(SLOW)  # It is there by now; on MariaDB it waits for us.
    except IntegrityError:  # PostgreSQL looks at both when they are committed.
        is_recorded = False
    assert gives_way.result(WAIT_S) is not is_recorded
    assert Approval.objects.exists() is Revision.objects.exists() is is_recorded


def test_an_approval_that_comes_while_its_revision_gives_way_is_not_recorded(
    beside: Callable[..., Any],
) -> None:
    revision = returned(interface="website")
    with transaction.atomic():
        Revision.objects.filter(pk=revision.pk)._raw_delete("default")
        records = beside(
            lambda: approving.record(statement_of(revision), revision, sid="ses_1", now=NOW)
        )
        Event().wait(SLOW)  # as above
    assert records.result(WAIT_S) is False
    assert not Approval.objects.exists()


def test_a_further_revision_that_is_being_returned_keeps_its_operation(
    beside: Callable[..., Any],
) -> None:
    revision = returned(interface="website")
    further = replace(ASKED, interface="website")
    with transaction.atomic():
        operation = read(revision.operation)
        Operation.objects.filter(pk=operation.pk).update(revision_count=2)
        gives_way = beside(lambda: asking.give_way(revision))
        Event().wait(SLOW)  # as above
        second = asking._store_revision(further, operation, 2, NOW)
    assert gives_way.result(WAIT_S) is True
    assert Revision.objects.get() == second
    assert Operation.objects.get() == operation


def test_an_ask_for_an_operation_that_is_going_begins_a_new_one(
    beside: Callable[..., Any],
) -> None:
    revision = returned(interface="website")
    operation = read(revision.operation)
    with transaction.atomic():
        Revision.objects.filter(pk=revision.pk)._raw_delete("default")
        Operation.objects.filter(pk=operation.pk)._raw_delete("default")
        again = beside(lambda: asking.return_revision(ASKED, operation, NOW))
        Event().wait(SLOW)  # as above
    assert again.result(WAIT_S) is None
    assert not Operation.objects.exists()
