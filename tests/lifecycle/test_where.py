"""All that belongs to an operation is in the operation's database, and is read there."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from poppy_operations.declarations.outcomes import Decline
from poppy_operations.lifecycle import (
    approving,
    asking,
    claims,
    finishing,
    purging,
    queueing,
    settling,
)
from poppy_operations.lifecycle.finishing import Finish
from poppy_operations.models import Approval, Operation, Revision
from tests.databases.routers import ELSEWHERE, Replica
from tests.lifecycle.rows import (
    ANSWER,
    ASKED,
    MINE,
    NOW,
    OTHER,
    SECOND,
    approval_of,
    begun,
    read,
    returned,
    statement_of,
)

pytestmark = pytest.mark.django_db
LEASE_OVER = NOW + timedelta(seconds=61)
LONG_AFTER = NOW + timedelta(days=3)


class Scattering(Replica):
    """Reads have a replica that must not decide, and other tables would go to a database apart."""

    def db_for_write(self, model: type, **hints: Any) -> str | None:
        """Say where operations are, which is where the rest has to be as well."""
        return super().db_for_write(model, **hints) if model is Operation else ELSEWHERE

    def allow_relation(self, *rows: Any, **hints: Any) -> bool:
        """Let rows that are not stored yet refer to others."""
        return True


@pytest.fixture(autouse=True)
def scattering(db: None, settings: Any) -> None:
    settings.DATABASE_ROUTERS = [f"{__name__}.{Scattering.__name__}"]


def test_what_is_asked_recorded_and_voided_is_beside_its_operation() -> None:
    first = returned(interface="website")
    further = replace(ASKED, interface="website")
    second = asking.return_revision(further, read(first.operation), NOW)
    assert second is not None
    asking.mark_looked_up(second, NOW)
    asked_again = asking.return_revision(further, read(first.operation), NOW)
    assert asked_again is not None
    assert asking.give_way(asked_again)
    assert approving.record(statement_of(second), second, sid="ses_1", now=NOW)
    (approval,) = Approval.objects.using("default").select_related("operation")
    assert approving.void(approval, by="bob", because="", now=NOW)
    stored = [read(row) for row in (first, second)]
    assert [row.retired_at for row in stored] == [None, NOW]
    assert read(second).looked_up_at == NOW
    assert not Revision.objects.using("default").filter(pk=asked_again.pk).exists()


def test_what_is_declined_is_beside_its_operation() -> None:
    revision = returned()
    declined = approving.decline(
        statement_of(revision), revision, Decline("Too much."), sid="ses_1", now=NOW
    )
    assert declined
    assert read(revision.operation).attempt != revision.operation.attempt


def test_what_a_worker_performs_is_beside_its_operation() -> None:
    operation = (revision := returned()).operation
    begun(revision, queued=True, attempt=OTHER)
    assert queueing.release_unstarted(operation, OTHER)
    begun(revision, queued=True)
    assert claims.release(operation, MINE, "[]")
    assert queueing.take_worker_answer(read(operation))
    approval = begun(revision, queued=True)
    assert queueing.enqueue_again(read(operation), NOW)
    assert queueing.start(read(operation), MINE, NOW)
    assert claims.hold(operation, MINE)
    assert claims.free(read(operation), LEASE_OVER)
    approval = begun(revision, approval=approval)
    assert finishing.finish(operation, approval, ANSWER, attempt=MINE, now=NOW)
    assert read(operation).state == "performed"


@pytest.mark.parametrize("is_late", [False, True])
def test_what_reaches_outside_is_beside_its_operation(is_late: bool) -> None:
    operation = (revision := returned()).operation
    approval = begun(revision, effects="external")
    assert finishing.mark_unknown(operation, MINE, NOW)
    if is_late:
        assert claims.release(operation, MINE)
    end = Finish.LATE if is_late else Finish.FINISHED
    for _ in range(2):  # the second time finds how the first one ended
        assert finishing.finish_external(operation, approval, ANSWER, attempt=MINE, now=NOW) is end


@pytest.mark.parametrize("answer", [ANSWER, None])
def test_what_is_settled_is_beside_its_operation(answer: Any) -> None:
    revision = returned()
    approval = begun(revision, effects="external")
    examined = read(revision.operation)
    settled = {"how": "reconciled", "by": "bob", "because": "", "now": LEASE_OVER}
    assert settling.settle(examined, answer, void=[approval.pk], **settled)
    assert not settling.settle(examined, None, **settled)
    if answer is None:
        assert read(approval).voided_by == "bob"
        assert read(revision.operation).barred_keys == 1


def test_what_is_forgotten_is_gone_from_there() -> None:
    revision = returned()
    approval_of(revision).save(using="default")
    assert purging.forgettable(LONG_AFTER).count() == 1
    assert purging.forget(LONG_AFTER, 10) == 1
    for model in (Operation, Revision, Approval):
        assert not model.objects.using("default").exists()
    assert purging.forget(LONG_AFTER + SECOND, 10) == 0
