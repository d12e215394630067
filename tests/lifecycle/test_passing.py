"""What passes by itself, as each database and each of its clients says it."""

from __future__ import annotations

import logging
import sqlite3
from typing import Any

import pytest
from django.db import (
    DataError,
    InterfaceError,
    InternalError,
    OperationalError,
    ProgrammingError,
    connection,
)

from poppy_operations.lifecycle.durable import Busy, committed, durably
from poppy_operations.lifecycle.passing import passes, word_of
from poppy_operations.models import Agent
from tests.connections import in_the_way

SECRET = "what the User buys"


class _Postgres(Exception):
    def __init__(self, state: str | None, name: str = "sqlstate") -> None:
        super().__init__()
        setattr(self, name, state)


def of_postgres(state: str | None, kind: type[Exception] = OperationalError) -> Exception:
    """An error as psycopg says it."""
    error = kind(SECRET)
    error.__cause__ = _Postgres(state)
    return error


def of_psycopg2(state: str) -> Exception:
    """An error as psycopg2 says it."""
    error = OperationalError(SECRET)
    error.__cause__ = _Postgres(state, "pgcode")
    return error


def of_sqlite(name: str, kind: type[Exception] = OperationalError) -> Exception:
    """An error as Python's module says it."""
    error = kind(SECRET)
    error.__cause__ = sqlite3.OperationalError(SECRET)
    error.__cause__.sqlite_errorname = name
    return error


PASSING = [
    *(of_postgres(state) for state in ("40001", "40P01", "55P03", "57014", "53300", "53100")),
    *(of_postgres(state) for state in ("57P01", "57P02", "57P03", "08006", "08001", "53200")),
    *(of_postgres(state, InternalError) for state in ("25006", "25P03", "25P04")),
    of_postgres(None),
    of_psycopg2("40001"),
    *(OperationalError(code, SECRET) for code in (1205, 1213, 1020, 1040, 1203, 1290, 1836)),
    *(OperationalError(code, SECRET) for code in (2002, 2003, 2006, 2013, 2055, 1053, 1927, 1021)),
    OperationalError(1305, "SAVEPOINT s1_x1 does not exist"),
    InterfaceError(0, ""),
    *(of_sqlite(name) for name in ("SQLITE_BUSY", "SQLITE_BUSY_SNAPSHOT", "SQLITE_LOCKED")),
    *(of_sqlite(name) for name in ("SQLITE_READONLY_DBMOVED", "SQLITE_FULL", "SQLITE_CANTOPEN")),
    OperationalError("database is locked"),
    OperationalError(),
    InterfaceError("connection already closed"),
]
STAYING = [
    *(of_postgres(state) for state in ("54000", "53400", "58030", "58P01", "42501", "22021")),
    of_postgres("25P02", InternalError),
    InternalError("of another kind"),
    of_psycopg2("54000"),
    OperationalError(1305, "PROCEDURE shop.pay does not exist"),
    *(OperationalError(code, SECRET) for code in (1366, 1054, 1267, 1153, 1045, 1049, 1146)),
    InternalError(1366, SECRET),
    *(of_sqlite(name) for name in ("SQLITE_ERROR", "SQLITE_CORRUPT", "SQLITE_NOTADB")),
    of_sqlite("SQLITE_MISUSE", InterfaceError),
    DataError(SECRET),
    ProgrammingError(SECRET),
    LookupError(SECRET),
]


def named(errors: list[Exception]) -> list[str]:
    """Names of errors, for the tests."""
    return [f"{number} {word_of(error)}" for number, error in enumerate(errors)]


@pytest.mark.parametrize("error", PASSING, ids=named(PASSING))
def test_what_passes_by_itself(error: Exception) -> None:
    assert passes(error)


@pytest.mark.parametrize("error", STAYING, ids=named(STAYING))
def test_what_stays_until_somebody_mends_it(error: Exception) -> None:
    assert not passes(error)


@pytest.mark.django_db
@pytest.mark.parametrize("write", [durably, committed])
def test_what_stays_is_raised_at_once_and_the_log_names_the_databases_word_alone(
    write: Any, caplog: pytest.LogCaptureFixture
) -> None:
    error = OperationalError(1366, SECRET)
    with (
        in_the_way("INSERT", 99, error) as hindrance,
        pytest.raises(OperationalError) as raised,
    ):
        write(lambda: Agent.objects.create(client_id="https://agent.example/client"))
    assert raised.value is error
    assert hindrance.times == 98
    (record,) = [one for one in caplog.records if one.name == "poppy_operations"]
    assert record.levelno == logging.ERROR
    assert record.getMessage().endswith("1366.")
    assert SECRET not in caplog.text


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_a_column_that_cannot_hold_a_character_is_no_busy_database() -> None:
    if connection.vendor != "mysql":
        pytest.skip("the others hold every character")
    table = Agent._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} MODIFY name varchar(200) CHARACTER SET utf8mb3")
    try:
        with pytest.raises(OperationalError) as raised:
            durably(lambda: Agent.objects.create(client_id="https://a.example/c", name="👋"))
        assert word_of(raised.value) == 1366
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE {table} MODIFY name varchar(200) CHARACTER SET utf8mb4")


def test_busy_says_what_the_database_said() -> None:
    assert str(Busy("database is locked")) == "database is locked"
