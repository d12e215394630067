"""What the statements of each request write is what Django's own would have written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import IntegrityError, connection, models, transaction
from django.db.models.signals import ModelSignal, post_save, pre_save
from django.db.transaction import TransactionManagementError

from poppy_operations.lifecycle import asking, claims, finishing
from poppy_operations.lifecycle.asking import mark_looked_up
from poppy_operations.models import Approval, Operation, Performance, Revision
from poppy_operations.models.inserting import insert
from poppy_operations.models.statements import Texts
from tests.lifecycle.rows import (
    ANSWER,
    ASKED,
    MINE,
    NOW,
    OTHER,
    approval_of,
    begun,
    read,
    returned,
)
from tests.lifecycle.rows import facts as facts_of
from tests.statements.rows import facts

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def a_revision() -> Revision:
    revision = returned()
    return Revision(
        operation=revision.operation,
        revision="1-other",
        number=2,
        ref=None,
        watch="a page's",
        terms='{"note":"😀 é \\u2028"}',
        content_fields=json.dumps({"sku": "0123"}),
        returned_at=NOW,
        expires_at=NOW,
        lifetime_s=900,
    )


def an_operation() -> Operation:
    return Operation(
        operation_id="op_1",
        action="shop.buy",
        interface="api",
        client_id="https://agent.example/client",
        owner_digest="d" * 64,
        slot="s" * 64,
        attempt=MINE,
        created_at=NOW,
    )


def an_approval() -> Approval:
    return approval_of(returned())


def a_performance(body: bytes | None) -> Performance:
    approval = begun(returned())
    return Performance(
        operation=approval.operation,
        revision_id=approval.revision_id,
        approval=approval,
        attempt=MINE,
        status=201,
        body=body,
        finished_at=NOW,
    )


ROWS: dict[str, Callable[[], models.Model]] = {
    "revision": a_revision,
    "operation": an_operation,
    "approval": an_approval,
    "performance": lambda: a_performance(bytes(range(256)) * 9),
    "performance without a body": lambda: a_performance(None),
    "performance of an empty body": lambda: a_performance(b""),
}
each_row = pytest.mark.parametrize("make", ROWS.values(), ids=list(ROWS))


def stored(row: models.Model, store: Callable[[models.Model], object]) -> dict[str, Any]:
    """A row as it is read after it was stored, and gone again."""
    with transaction.atomic():
        store(row)
        assert not row._state.adding
        assert row._state.db == "default"
        assert row.pk is not None
        found = facts(type(row)._default_manager.get(pk=row.pk))
        transaction.set_rollback(True)
    return found


@each_row
@pytest.mark.parametrize("returns", [True, False], ids=["returning", "asked for the key"])
def test_a_row_is_stored_as_django_stores_it(
    make: Callable[[], models.Model], returns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = make()
    if not returns:
        monkeypatch.setattr(connection.features, "can_return_columns_from_insert", False)
        monkeypatch.setattr(Texts, "known", {})
        if connection.vendor == "postgresql" and row.pk is None:
            pytest.skip("PostgreSQL returns the keys that it makes, and has no other way")
    by_django = stored(row, lambda one: one.save(force_insert=True))
    if "id" in by_django and not isinstance(row, Approval):
        row.pk = None
    row._state.adding = True
    by_us = stored(row, insert)
    if isinstance(row, Approval):
        assert by_us == by_django
    else:
        assert {**by_us, "id": 0} == {**by_django, "id": 0}


@contextmanager
def heard(signal: ModelSignal) -> Iterator[list[models.Model]]:
    """The rows that a receiver of the site's is told of."""
    told: list[models.Model] = []

    def hear(instance: models.Model, **_named: Any) -> None:
        told.append(instance)

    signal.connect(hear)
    try:
        yield told
    finally:
        signal.disconnect(hear)


@each_row
@pytest.mark.parametrize("signal", [pre_save, post_save], ids=["before", "after"])
def test_receivers_of_the_sites_hear_of_a_row_as_of_any(
    make: Callable[[], models.Model], signal: ModelSignal
) -> None:
    row = make()
    with heard(signal) as told:
        insert(row)
    assert told == [row]
    assert type(row)._default_manager.filter(pk=row.pk).exists()


def test_a_row_that_cannot_be_stored_breaks_its_transaction_as_djangos_does() -> None:
    insert(an_operation())
    with transaction.atomic():
        with pytest.raises(IntegrityError):
            insert(an_operation())
        with pytest.raises(TransactionManagementError):
            Operation.objects.count()
        transaction.set_rollback(True)


def test_a_change_that_fails_breaks_its_transaction_as_djangos_does() -> None:
    operation = returned().operation

    def fail(execute: Any, sql: str, *arguments: Any) -> Any:
        return execute(sql.replace("UPDATE", "UPDATES"), *arguments)

    with transaction.atomic():
        with connection.execute_wrapper(fail), pytest.raises(Exception, match=r"UPDATES|syntax"):
            claims.hold(operation, MINE)
        with pytest.raises(TransactionManagementError):
            Operation.objects.count()
        transaction.set_rollback(True)


def test_a_change_is_one_of_its_own_row_alone() -> None:
    revision, other = returned(), returned(slot="another")
    before = facts_of(other.operation)
    approval = begun(revision)
    claims.hold(revision.operation, MINE)
    finishing.finish(revision.operation, approval, ANSWER, attempt=MINE, now=NOW)
    assert facts_of(other.operation) == before


@pytest.mark.parametrize("interface", ["api", "review"])
def test_what_was_performed_keeps_its_slot_where_its_interface_says_so(interface: str) -> None:
    """One statement for each interface: the text that is made first must not serve the other."""
    for slot in ("one", "two"):
        revision = returned(interface=interface, slot=slot)
        approval = begun(revision)
        assert finishing.finish(revision.operation, approval, ANSWER, attempt=MINE, now=NOW)
        kept = slot if interface == "review" else None
        assert read(revision.operation).slot == kept


def test_a_revision_is_marked_as_looked_up_once() -> None:
    revision = returned(interface="website")
    mark_looked_up(revision, NOW)
    mark_looked_up(revision, NOW.replace(year=2027))
    assert read(revision).looked_up_at == NOW


def test_a_further_revision_counts_from_what_was_read() -> None:
    operation = returned().operation
    assert asking.return_revision(ASKED, operation, NOW) is not None
    assert asking.return_revision(ASKED, operation, NOW) is None
    assert read(operation).revision_count == 2


def test_an_attempt_that_lost_changes_nothing() -> None:
    revision = returned()
    begun(revision)
    before = facts_of(revision.operation)
    approval = approval_of(revision)
    options: dict[str, Any] = {"effects": "database", "lease_s": 60, "now": NOW}
    assert not claims.begin(revision.operation, approval, attempt=OTHER, **options)
    assert not claims.hold(revision.operation, OTHER)
    assert facts_of(revision.operation) == before
    assert Approval.objects.count() == 1
