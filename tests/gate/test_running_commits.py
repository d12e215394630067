"""How a run can end after its body has returned: at the finish, at the commit, and after it."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import (
    DatabaseError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    connection,
    connections,
    transaction,
)
from django.http import HttpResponse

from poppy_operations.gate.answers import SiteAnswer, StillPerforming
from poppy_operations.gate.performing import in_database
from poppy_operations.gate.performing.attempt import Attempt
from poppy_operations.lifecycle import claims, finishing
from poppy_operations.lifecycle.durable import Busy, OuterTransaction
from poppy_operations.models import Decline
from poppy_operations.signals import operation_performed
from tests.connections import in_the_way, lose_connection
from tests.gate.runs import DONE, Trial, effects_left
from tests.lifecycle.rows import NOW, told_by
from tests.shop.models import Effect

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]
LOG = "poppy_operations"


@pytest.fixture(params=["sync", "async"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def needs_a_server() -> None:
    if connection.vendor == "sqlite":
        pytest.skip("a file has no server to lose")


def hook(error: BaseException) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return lambda: transaction.on_commit(fail)


# After the commit


@pytest.mark.requirement("OPS-7-01", "OPS-7-08")
def test_a_hook_that_fails_after_the_commit_is_logged_and_it_was_performed(
    mode: str, caplog: Any
) -> None:
    attempt = Trial("database", mode, happen=hook(ConnectionError("mail")))
    with caplog.at_level(logging.ERROR, LOG), told_by(operation_performed) as told:
        assert attempt.go() == SiteAnswer(DONE)
    assert (attempt.state, effects_left()) == ("performed", 1)
    assert len(told.calls) == 1
    assert "a hook failed after the commit" in caplog.text


def test_an_interruption_in_a_hook_passes_on_and_it_was_performed(mode: str) -> None:
    attempt = Trial("database", mode, happen=hook(SystemExit(1)))
    with told_by(operation_performed) as told, pytest.raises(SystemExit):
        attempt.go()
    assert (attempt.state, effects_left()) == ("performed", 1)
    assert len(told.calls) == 1


def test_a_failed_hook_is_no_failure_even_where_the_outcome_cannot_be_read_at_once(
    mode: str,
) -> None:
    attempt = Trial("database", mode)

    def fail() -> None:
        hindrance.__enter__()
        message = "mail"
        raise ConnectionError(message)

    hindrance = in_the_way("UPDATE", 99)
    attempt.happen = lambda: transaction.on_commit(fail)
    try:
        outcome = attempt.go()
    finally:
        hindrance.__exit__(None, None, None)
    assert outcome == StillPerforming(attempt.operation.operation_id, 2)
    assert attempt.state == "performed"


@pytest.mark.requirement("OPS-7-08")
def test_where_nobody_knows_whether_an_attempt_was_committed_nobody_says_that_it_failed(
    mode: str, caplog: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database took the commit, its answer was lost, and then it is gone."""
    attempt = Trial("database", mode, happen=hook(OperationalError()))

    def gone(*_args: Any) -> Any:
        message = "server closed the connection unexpectedly"
        raise Busy(message)

    monkeypatch.setattr(claims, "release", gone)
    with caplog.at_level(logging.ERROR, "poppy_operations"):
        outcome = attempt.go()
    assert outcome == StillPerforming(attempt.operation.operation_id, 2)
    assert (attempt.state, effects_left()) == ("performed", 1)
    assert [record.getMessage().partition(" (")[0] for record in caplog.records] == [
        "Nobody knows yet whether an attempt was committed."
    ]


def test_an_attempt_that_is_gone_by_the_time_it_is_read_is_not_said_to_have_failed(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = Trial("database", mode, happen=hook(OperationalError()))
    monkeypatch.setattr(Attempt, "read_again", lambda _run: None)
    outcome = attempt.go()
    assert outcome == StillPerforming(attempt.operation.operation_id, 2)
    assert attempt.state == "performed"


def test_a_commit_whose_answer_was_lost_was_performed(mode: str, monkeypatch: Any) -> None:
    attempt = Trial("database", mode)
    original = finishing.finish
    commit = type(connections["default"])._commit

    def lost(wrapper: Any) -> None:
        monkeypatch.setattr(type(connections["default"]), "_commit", commit)
        commit(wrapper)
        message = "server closed the connection unexpectedly"
        raise OperationalError(message)

    def finish(*args: Any, **options: Any) -> bool:
        monkeypatch.setattr(type(connections["default"]), "_commit", lost)
        return original(*args, **options)

    monkeypatch.setattr(finishing, "finish", finish)
    assert attempt.go() == SiteAnswer(DONE)
    assert (attempt.state, effects_left()) == ("performed", 1)


def test_on_commit_work_runs_for_the_performer_and_never_for_a_loser(mode: str) -> None:
    ran: list[str] = []
    loser = Trial("database", mode)

    def lose() -> None:
        transaction.on_commit(lambda: ran.append("loser"))
        loser.lose()

    loser.happen = lose
    assert isinstance(loser.go(), StillPerforming)
    claims.release(loser.run.operation, loser.run.token)
    winner = loser.again(happen=lambda: transaction.on_commit(lambda: ran.append("winner")))
    assert winner.go() == SiteAnswer(DONE)
    assert ran == ["winner"]


# At the commit


def never_valid() -> None:
    """Write a row whose foreign keys are checked at the commit, where the database can wait."""
    Decline.objects.create(
        operation_id=2**31 - 1, revision_id=2**31 - 1, approver="user", rule="", declined_at=NOW
    )


def test_a_constraint_that_fails_at_the_commit_is_rolled_back_released_and_passes(
    mode: str,
) -> None:
    attempt = Trial("database", mode, happen=never_valid)
    with told_by(operation_performed) as told, pytest.raises(IntegrityError):
        attempt.go()
    assert (attempt.state, effects_left()) == ("open", 0)
    assert told.calls == []
    assert attempt.again().go() == SiteAnswer(DONE)


def test_a_commit_that_the_database_refuses_is_busy_and_nothing_was_performed(
    mode: str, monkeypatch: Any
) -> None:
    attempt = Trial("database", mode)
    original = finishing.finish
    commit = type(connections["default"])._commit

    def refused(wrapper: Any) -> None:
        monkeypatch.setattr(type(connections["default"]), "_commit", commit)
        message = "could not serialize access"
        raise OperationalError(message)

    def finish(*args: Any, **options: Any) -> bool:
        monkeypatch.setattr(type(connections["default"]), "_commit", refused)
        return original(*args, **options)

    monkeypatch.setattr(finishing, "finish", finish)
    with pytest.raises(Busy, match="could not serialize access"):
        attempt.go()
    assert (attempt.state, effects_left()) == ("open", 0)


@pytest.mark.requirement("OPS-7-16")
def test_a_connection_lost_at_the_commit_is_rolled_back_released_and_busy(
    mode: str, monkeypatch: Any
) -> None:
    needs_a_server()
    attempt = Trial("database", mode)
    original = finishing.finish

    def finish(*args: Any, **options: Any) -> bool:
        finished = original(*args, **options)
        lose_connection()
        return finished

    monkeypatch.setattr(finishing, "finish", finish)
    with pytest.raises(Busy):
        attempt.go()
    monkeypatch.undo()
    assert (attempt.state, effects_left()) == ("open", 0)
    assert attempt.again().go() == SiteAnswer(DONE)


# At the finish


@pytest.mark.parametrize("word", ["UPDATE", "performance"])
def test_a_finish_that_the_database_prevents_is_busy_and_nothing_was_performed(
    mode: str, word: str
) -> None:
    attempt = Trial("database", mode)
    hindrance = in_the_way(word, 1)
    attempt.happen = hindrance.__enter__
    try:
        with pytest.raises(Busy):
            attempt.go()
    finally:
        hindrance.__exit__(None, None, None)
    assert (attempt.state, effects_left()) == ("open", 0)


def test_a_fault_in_the_finish_is_rolled_back_released_and_passes(
    mode: str, monkeypatch: Any
) -> None:
    attempt = Trial("database", mode)

    def fault(*args: Any, **options: Any) -> bool:
        raise LookupError

    monkeypatch.setattr(finishing, "finish", fault)
    with pytest.raises(LookupError):
        attempt.go()
    assert (attempt.state, effects_left()) == ("open", 0)


# In the body


def test_a_connection_lost_in_the_body_is_rolled_back_released_and_passes(mode: str) -> None:
    needs_a_server()

    def lose() -> None:
        lose_connection()
        Effect.objects.create(kind="never", key=str(uuid.uuid4()))

    attempt = Trial("database", mode, happen=lose)
    with pytest.raises(DatabaseError):
        attempt.go()
    assert (attempt.state, effects_left()) == ("open", 0)
    assert attempt.again().go() == SiteAnswer(DONE)


@pytest.mark.requirement("OPS-7-08")
def test_outside_a_connection_lost_in_the_body_is_unknown_and_answered_as_performing(
    mode: str,
) -> None:
    needs_a_server()

    def lose() -> None:
        lose_connection()
        Effect.objects.create(kind="never", key=str(uuid.uuid4()))

    attempt = Trial("external", mode, happen=lose)
    assert isinstance(attempt.go(), StillPerforming)
    assert (attempt.state, effects_left()) == ("unknown", 1)


def test_outside_a_connection_lost_unseen_in_the_body_is_performed_all_the_same(
    mode: str,
) -> None:
    needs_a_server()
    attempt = Trial("external", mode, happen=lose_connection)
    assert attempt.go() == SiteAnswer(DONE)
    assert attempt.state == "performed"


def test_contention_in_the_body_is_busy_and_no_fault(mode: str) -> None:
    attempt = Trial("database", mode)
    hindrance = in_the_way("INSERT", 1)
    attempt.happen = lambda: (hindrance.__enter__(), Effect.objects.create(kind="", key=""))
    try:
        with pytest.raises(Busy, match="database is locked"):
            attempt.go()
    finally:
        hindrance.__exit__(None, None, None)
    assert (attempt.state, effects_left()) == ("open", 0)


def test_a_body_that_swallows_the_end_of_its_transaction_is_not_performed(mode: str) -> None:
    if connection.vendor != "mysql":
        pytest.skip("InnoDB alone ends the whole transaction at a deadlock")

    def swallow() -> None:
        with connection.cursor() as cursor:
            cursor.execute("ROLLBACK")  # What InnoDB does to the victim of a deadlock.
        Effect.objects.create(kind="the second half", key="")

    attempt = Trial("database", mode, happen=swallow)
    with pytest.raises(Busy):
        attempt.go()
    assert (attempt.state, effects_left()) == ("open", 0)


# Where no claim can be committed, or no transaction entered


@pytest.mark.parametrize("effects", ["database", "external"])
def test_inside_the_sites_own_transaction_nothing_is_performed_and_the_error_explains(
    mode: str, effects: str
) -> None:
    attempt = Trial(effects, mode)
    with pytest.raises(OuterTransaction), transaction.atomic():
        attempt.go()
    assert (attempt.state, effects_left()) == ("open", 0)


@pytest.mark.parametrize("effects", ["database", "external"])
def test_with_autocommit_off_nothing_is_performed(mode: str, effects: str) -> None:
    attempt = Trial(effects, mode)
    connection.set_autocommit(False)
    try:
        outcome = attempt.go()
    finally:
        connection.rollback()
        connection.set_autocommit(True)
    assert type(outcome).__name__ == "Lost"
    assert (attempt.state, effects_left()) == ("open", 0)


def test_a_transaction_that_cannot_be_entered_gives_the_claim_back(
    mode: str, monkeypatch: Any
) -> None:
    def locked(stack: Any) -> None:
        message = "database is locked"
        raise OperationalError(message)

    attempt = Trial("database", mode)
    monkeypatch.setattr(in_database, "enter_outermost", locked)
    with pytest.raises(Busy, match="database is locked"):
        attempt.go()
    assert (attempt.state, effects_left()) == ("open", 0)


def test_where_sqlite_begins_without_its_lock_the_claim_is_written_first(
    mode: str, monkeypatch: Any
) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("about SQLite")
    held: list[str] = []
    hold = claims.hold

    def noted(*args: Any) -> bool:
        held.append("held")
        return hold(*args)

    monkeypatch.setattr(claims, "hold", noted)
    assert Trial("database", mode).go() == SiteAnswer(DONE)
    assert held == []
    monkeypatch.setattr(in_database, "_begins_with_the_lock", lambda connection: False)
    assert Trial("database", mode).go() == SiteAnswer(DONE)
    assert held == ["held"]


def test_a_performed_operation_answers_a_second_attempt_of_old_knowledge(mode: str) -> None:
    attempt = Trial("database", mode)
    late = attempt.again()
    attempt.go()
    assert type(late.go()).__name__ == "Lost"
    assert effects_left() == 1


def test_where_a_database_forgets_savepoints_there_is_one_around_body_and_finish(
    mode: str, monkeypatch: Any
) -> None:
    fake = SimpleNamespace(vendor="mysql", needs_rollback=False)
    monkeypatch.setattr(in_database, "connections", {"default": fake})
    depths: list[int] = []
    attempt = Trial("database", mode, happen=lambda: depths.append(len(connection.savepoint_ids)))
    assert attempt.go() == SiteAnswer(DONE)
    assert depths == [1]


def test_a_site_with_other_databases_has_their_transactions_around_ours(
    mode: str, monkeypatch: Any
) -> None:
    order: list[str] = []
    atomic = transaction.atomic

    @contextmanager
    def noted(using: str | None = None, **options: Any) -> Iterator[None]:
        if using != "other":
            with atomic(using=using, **options):
                yield
            return
        order.append("enter other")
        try:
            yield
        except BaseException:
            order.append("undo other")
            raise
        order.append("commit other")

    monkeypatch.setattr(transaction, "atomic", noted)
    attempt = Trial("database", mode, happen=lambda: transaction.on_commit(ours))

    def ours() -> None:
        order.append("commit ours")

    attempt.run.job.transactions = ("default", "other")
    assert attempt.go() == SiteAnswer(DONE)
    # Ours is first to commit: that it was performed is known before anything.
    assert order == ["enter other", "commit ours", "commit other"]

    order.clear()
    failed = Trial("database", mode, ending=lambda: HttpResponse(status=409))
    failed.run.job.transactions = ("default", "other")
    failed.go()
    assert order == ["enter other", "undo other"]


@pytest.mark.parametrize("error", [DatabaseError(), InterfaceError()])
def test_a_rollback_that_fails_is_the_end_of_the_transaction_all_the_same(
    error: Exception, caplog: Any
) -> None:
    def fail() -> None:
        raise error

    stack = ExitStack()
    stack.callback(fail)
    in_database._roll_back(stack, LookupError())
    assert "ended with its connection" in caplog.text
