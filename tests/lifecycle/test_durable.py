"""Commits of their own, and a database that is in the way."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import InterfaceError, InternalError, OperationalError, connection, transaction

from poppy_operations.lifecycle import durable
from poppy_operations.lifecycle.durable import Busy, OuterTransaction, committed, durably
from poppy_operations.models import Agent
from tests.connections import in_the_way, lose_connection

pytestmark = pytest.mark.django_db


def write() -> str:
    Agent.objects.create(client_id="https://agent.example/client")
    return "written"


def written() -> bool:
    return Agent.objects.exists()


def test_a_write_is_given_back() -> None:
    assert durably(write) == "written"
    assert committed(written)


@pytest.mark.database
@pytest.mark.parametrize("error", [OperationalError("locked"), InterfaceError("closed")])
def test_a_database_in_the_way_once_gets_a_second_try(error: Exception) -> None:
    with in_the_way("INSERT", 1, error):
        assert durably(write) == "written"
    assert written()


@pytest.mark.database
@pytest.mark.parametrize("error", [OperationalError("locked"), InterfaceError("closed")])
def test_a_database_that_stays_in_the_way_is_busy_and_nothing_is_written(error: Exception) -> None:
    with in_the_way("INSERT", 99, error) as hindrance, pytest.raises(Busy) as raised:
        durably(write)
    assert hindrance.times == 97
    assert raised.value.__cause__ is error
    assert str(raised.value) == str(error)
    assert not written()


def test_committed_tries_once() -> None:
    with in_the_way("INSERT", 99) as hindrance, pytest.raises(Busy):
        committed(write)
    assert hindrance.times == 98


def test_what_else_goes_wrong_passes_unchanged_and_is_not_tried_again() -> None:
    tries: list[int] = []

    def fail() -> None:
        tries.append(1)
        write()
        raise LookupError

    with pytest.raises(LookupError):
        durably(fail)
    assert tries == [1]
    assert not written()


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_inside_another_transaction_nothing_is_written_and_the_error_says_what_to_do() -> None:
    with transaction.atomic():
        for attempt in (durably, committed):
            with pytest.raises(OuterTransaction, match="PersonalAgentMiddleware"):
                attempt(write)
    assert not written()


def test_the_error_of_an_outer_transaction_names_the_way_out() -> None:
    assert str(OuterTransaction()) == (
        "A gated view runs inside transaction.atomic(), which could undo the record that it was "
        "performed. Put the gate outside the transaction. Under ATOMIC_REQUESTS, add "
        "poppy_operations.middleware.PersonalAgentMiddleware to MIDDLEWARE, and decorate the "
        "class with @action.gated if a view calls action.run()."
    )


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_autocommit_off_is_busy_since_nobody_would_commit() -> None:
    connection.set_autocommit(False)
    try:
        with pytest.raises(Busy, match="AUTOCOMMIT is off"):
            durably(write)
        # The site's own pending work is the site's: the connection stays.
        assert not connection.get_autocommit()
    finally:
        connection.rollback()
        connection.set_autocommit(True)
    assert not written()


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_a_lost_connection_is_replaced_for_the_second_try() -> None:
    if connection.vendor == "sqlite":
        pytest.skip("a file has no server to lose")
    connection.ensure_connection()
    lose_connection()
    assert durably(write) == "written"
    assert written()


@pytest.mark.parametrize(
    ("errors", "atomic", "usable", "drops"),
    [
        (False, False, False, 0),
        (True, True, False, 0),
        (True, False, True, 0),
        (True, False, False, 1),
    ],
)
def test_only_a_lost_connection_is_dropped_before_the_second_try(
    monkeypatch: Any, errors: bool, atomic: bool, usable: bool, drops: int
) -> None:
    dropped: list[int] = []
    fake = SimpleNamespace(
        errors_occurred=errors,
        in_atomic_block=atomic,
        connection=object(),
        is_usable=lambda: usable,
        close=lambda: dropped.append(1),
    )
    monkeypatch.setattr(durable, "connections", {"default": fake})
    durable._drop_lost_connection()
    assert len(dropped) == drops


class _ServerError(Exception):
    def __init__(self, sqlstate: str) -> None:
        super().__init__()
        self.sqlstate = sqlstate


def test_contention_is_told_from_other_faults() -> None:
    serialization = OperationalError("could not serialize access")
    serialization.__cause__ = _ServerError("40001")
    gone = OperationalError("the connection is closed")
    gone.__cause__ = _ServerError("57P01")
    assert durable.is_contention(serialization)
    assert durable.is_contention(OperationalError(1213, "Deadlock found"))
    assert durable.is_contention(OperationalError("database is locked"))
    assert not durable.is_contention(gone)
    assert not durable.is_contention(OperationalError(2006, "Server has gone away"))
    assert not durable.is_contention(OperationalError())
    assert not durable.is_contention(ValueError("database is locked"))


def internal(state: str) -> InternalError:
    error = InternalError("of the server's")
    error.__cause__ = _ServerError(state)
    return error


@pytest.mark.parametrize("state", ["25006", "25P03", "25P04"])
def test_a_server_that_takes_no_writes_or_ended_an_idle_transaction_is_busy(state: str) -> None:
    error = internal(state)
    with in_the_way("INSERT", 99, error) as hindrance, pytest.raises(Busy) as raised:
        durably(write)
    assert hindrance.times == 97
    assert raised.value.__cause__ is error
    assert not durable.is_contention(error)


@pytest.mark.parametrize("error", [internal("25P02"), InternalError("of another kind")])
def test_another_internal_error_is_the_sites_own_and_passes(error: InternalError) -> None:
    with pytest.raises(InternalError) as raised, in_the_way("INSERT", 99, error) as hindrance:
        durably(write)
    assert raised.value is error
    assert hindrance.times == 98


def test_a_commit_is_one_of_the_database_that_operations_are_in(monkeypatch: Any) -> None:
    entered: list[dict[str, Any]] = []

    def atomic(**options: Any) -> AbstractContextManager[None]:
        entered.append(options)
        return nullcontext()

    monkeypatch.setattr(transaction, "atomic", atomic)
    monkeypatch.setattr(durable, "write_alias", lambda: "elsewhere")
    with ExitStack() as stack:
        durable.enter_outermost(stack)
    assert entered == [{"using": "elsewhere", "durable": True}]


def test_entering_the_outermost_transaction_leaves_it_with_the_stack() -> None:
    with ExitStack() as stack:
        durable.enter_outermost(stack)
        write()
        stack.close()
        assert written()
