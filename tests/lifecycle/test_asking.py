"""Returning operations and further revisions, looking up, and giving way."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from poppy_operations.lifecycle import approving, asking, finishing
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.models import Operation, Revision
from poppy_operations.protocol.canonical import digest
from poppy_operations.protocol.owner import Owner
from poppy_operations.signals import operation_returned
from tests.connections import in_the_way
from tests.lifecycle.rows import (
    ANSWER,
    ASKED,
    MINE,
    NOW,
    OWNER,
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


def test_return_operation_stores_what_was_asked() -> None:
    revision = returned()
    operation = read(revision.operation)
    assert re.fullmatch(r"buy_[a-z2-7]{26}", operation.operation_id)
    assert operation.owner == OWNER
    assert operation.owner_digest == OWNER.digest
    assert (operation.state, operation.revision_count, operation.conversation) == ("open", 1, "")
    assert operation.created_at == NOW
    assert re.fullmatch(r"[0-9a-f]{32}", operation.attempt)
    assert (operation.action, operation.interface) == (ASKED.action, ASKED.interface)
    assert operation.slot == ASKED.slot

    stored = read(revision)
    assert stored.terms == ASKED.terms
    assert stored.expires_at == NOW.replace(microsecond=0) + timedelta(minutes=15)
    assert stored.revision.startswith(f"{int(stored.expires_at.timestamp())}-")
    assert (stored.number, stored.lifetime_s, stored.summary) == (1, 900, "Buy it.")
    assert stored.content_fields == '{"sku": "0123"}'
    digests = ("terms_digest", "target_digest", "raw_digest", "content_digest")
    assert [getattr(stored, name) for name in digests] == [getattr(ASKED, name) for name in digests]
    assert stored.returned_at == NOW
    assert stored.retired_at is None


def test_a_revision_stands_for_its_owner_operation_terms_content_and_end(monkeypatch: Any) -> None:
    made: list[dict[str, Any]] = []

    def new_revision(**parts: Any) -> str:
        made.append(parts)
        return "1-made"

    monkeypatch.setattr(asking, "new_revision", new_revision)
    revision = read(returned())
    assert revision.revision == "1-made"
    assert made == [
        {
            "owner": OWNER.digest,
            "operation_id": revision.operation.operation_id,
            "terms_digest": ASKED.terms_digest,
            "content_digest": ASKED.content_digest,
            "expires_at": int(revision.expires_at.timestamp()),
        }
    ]


def test_return_operation_keeps_the_conversation_that_it_was_asked_in() -> None:
    assert read(returned(conversation="c-1").operation).conversation == "c-1"


@pytest.mark.parametrize(
    "owner", [Owner(None, None, "5"), Owner("a", "", None), Owner("a", "u", "")]
)
def test_the_kinds_of_no_account_are_told_apart(owner: Owner) -> None:
    revision = returned(owner=owner)
    assert read(revision.operation).owner == owner


def test_only_the_website_gives_references_and_looks_up_later() -> None:
    api, website = returned(), returned(interface="website", slot=digest("another"))
    assert (api.ref, api.watch) == (None, None)
    assert api.looked_up_at == api.returned_at == NOW
    assert website.ref
    assert website.watch
    assert website.ref != website.watch
    assert website.looked_up_at is None


def test_return_operation_in_a_taken_slot_gives_nothing_and_leaves_nothing() -> None:
    returned()
    with told_by(operation_returned) as told:
        assert asking.return_operation(ASKED, NOW) is None
    assert told.calls == []
    assert (Operation.objects.count(), Revision.objects.count()) == (1, 1)


def test_the_slot_of_a_performed_operation_is_free_again() -> None:
    revision = returned()
    approval = begun(revision)
    assert finishing.finish(revision.operation, approval, ANSWER, attempt=MINE, now=NOW)
    assert returned().operation_id != revision.operation_id


def test_return_operation_is_told_after_the_commit() -> None:
    with told_by(operation_returned, and_fails=True) as told:
        revision = returned()
    assert told.calls[0]["revision"] == revision
    assert told.calls[0]["operation"].operation_id == revision.operation.operation_id
    assert told.in_transaction == [False]


def test_return_operation_is_tried_once_more_and_then_busy() -> None:
    with in_the_way("INSERT", 1):
        returned()
    Operation.objects.all().delete()
    with in_the_way("INSERT", 99), pytest.raises(Busy):
        asking.return_operation(ASKED, NOW)
    assert not Operation.objects.exists()


def test_return_revision_counts_on_and_keeps_the_earlier_one() -> None:
    first = returned()
    before = facts(first.operation)
    later = NOW + timedelta(minutes=5)
    changed = replace(ASKED, terms='{"amount":"75.00"}', terms_digest=digest("others"))
    with told_by(operation_returned) as told:
        second = asking.return_revision(changed, read(first.operation), later)
    assert second is not None
    assert second.revision != first.revision
    assert second.operation_id == first.operation_id
    assert (second.number, second.terms) == (2, '{"amount":"75.00"}')
    assert second.returned_at == later
    assert second.expires_at == later.replace(microsecond=0) + timedelta(minutes=15)
    assert read(first).retired_at is None
    assert facts(first.operation) == {**before, "revision_count": 2}
    assert [call["revision"] for call in told.calls] == [second]


def test_return_revision_while_performing_leaves_the_attempt_alone() -> None:
    first = returned()
    begun(first)
    before = facts(first.operation)
    assert asking.return_revision(ASKED, read(first.operation), NOW) is not None
    assert facts(first.operation) == {**before, "revision_count": 2}


def test_return_revision_gives_nothing_where_another_came_first() -> None:
    first = returned()
    stale = read(first.operation)
    assert asking.return_revision(ASKED, read(first.operation), NOW) is not None
    assert asking.return_revision(ASKED, stale, NOW) is None
    assert facts(first.operation)["revision_count"] == Revision.objects.count() == 2


@pytest.mark.parametrize("is_stale", [True, False])
def test_return_revision_of_a_performed_operation_gives_nothing(is_stale: bool) -> None:
    first = returned()
    operation = read(first.operation)
    approval = begun(first)
    finishing.finish(operation, approval, ANSWER, attempt=MINE, now=NOW)
    if not is_stale:
        operation = read(operation)
    assert asking.return_revision(ASKED, operation, NOW) is None
    assert Revision.objects.count() == 1


def test_return_revision_is_tried_once_more_and_then_busy() -> None:
    first = returned()
    with in_the_way("INSERT", 1):
        assert asking.return_revision(ASKED, read(first.operation), NOW) is not None
    with in_the_way("INSERT", 99), pytest.raises(Busy):
        asking.return_revision(ASKED, read(first.operation), NOW)
    assert facts(first.operation)["revision_count"] == Revision.objects.count() == 2


def test_return_revision_leaves_other_operations_alone() -> None:
    first, neighbour = returned(), returned(slot="neighbour")
    before = facts(neighbour.operation)
    assert asking.return_revision(ASKED, read(first.operation), NOW) is not None
    assert facts(neighbour.operation) == before


def test_only_what_was_looked_up_is_marked_and_only_what_gave_way_is_gone() -> None:
    seen, gone, other = (returned(interface="website", slot=slot) for slot in ("1", "2", "3"))
    asking.mark_looked_up(seen, NOW)
    assert asking.give_way(gone)
    assert read(other).looked_up_at is None
    assert set(Revision.objects.all()) == {seen, other}
    assert set(Operation.objects.all()) == {seen.operation, other.operation}


def test_mark_looked_up_keeps_the_first_time() -> None:
    revision = returned(interface="website")
    asking.mark_looked_up(revision, NOW)
    asking.mark_looked_up(revision, NOW + SECOND)
    assert_near(read(revision).looked_up_at, NOW)


def assert_near(stored: Any, expected: Any) -> None:
    """MariaDB's columns keep microseconds, but not every site's do."""
    assert abs(stored - expected) < SECOND


def test_what_nobody_looked_up_gives_way_with_its_operation() -> None:
    revision = returned(interface="website")
    assert asking.give_way(revision)
    assert not Revision.objects.exists()
    assert not Operation.objects.exists()
    assert not asking.give_way(revision)


def test_an_operation_stays_with_its_other_revisions() -> None:
    first = returned(interface="website")
    further = asking.return_revision(ASKED, read(first.operation), NOW)
    assert further is not None
    assert asking.give_way(read(first))
    assert Operation.objects.get() == first.operation
    assert Revision.objects.get() == further
    again = asking.return_revision(ASKED, read(first.operation), NOW)
    assert again is not None
    assert again.number == 3


def test_an_operation_stays_whose_further_revision_the_ask_has_not_seen() -> None:
    revision = returned(interface="website")
    assert asking.return_revision(ASKED, read(revision.operation), NOW) is not None
    assert asking.give_way(revision)
    assert Operation.objects.get() == revision.operation


def test_what_was_looked_up_meanwhile_does_not_give_way() -> None:
    revision = returned(interface="website")
    asking.mark_looked_up(read(revision), NOW)
    assert not asking.give_way(revision)
    assert read(revision).retired_at is None


def test_what_was_approved_meanwhile_does_not_give_way() -> None:
    revision = returned(interface="website")
    approving.record(statement_of(revision), revision, sid="ses_1", now=NOW)
    assert not asking.give_way(revision)
    assert read(revision).retired_at is None


@pytest.mark.django_db(transaction=True)
def test_what_else_belongs_to_a_revision_keeps_it() -> None:
    revision = returned(interface="website")
    approval_of(revision).save()
    assert not asking.give_way(revision)
    assert Revision.objects.get() == revision


def test_giving_way_is_tried_once_more_and_then_busy() -> None:
    revision = returned(interface="website")
    with in_the_way("DELETE", 99), pytest.raises(Busy):
        asking.give_way(revision)
    with in_the_way("DELETE", 1):
        assert asking.give_way(revision)
