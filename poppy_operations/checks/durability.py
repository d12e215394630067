"""Checks of what a commit means: whether it is on the disk once it is answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from django.core.checks import CheckMessage
from django.db import DatabaseError, InterfaceError, connections

from poppy_operations.checks.messages import message
from poppy_operations.models.databases import write_alias

# By PRAGMA synchronous: from FULL on, a commit in WAL mode is on the disk.
_SQLITE_LEVELS = ("OFF", "NORMAL", "FULL", "EXTRA")
_SQLITE_FULL = _SQLITE_LEVELS.index("FULL")
# 3 is as durable as 1, in the order of an older MariaDB.
_MARIADB_DURABLE = {"1", "3"}


def check_durability(
    *, databases: Sequence[str] | None = None, **_named: Any
) -> list[CheckMessage]:
    """Check that a commit of the app's tables outlives a power failure, if that can be seen.

    It asks the database, and so does nothing if Django was not told to check that database.
    """
    alias = write_alias()
    if alias not in (databases or ()):
        return []
    connection: Any = connections[alias]
    weaknesses = _WEAKNESSES.get(connection.vendor)
    if weaknesses is None:
        return []
    try:
        with connection.cursor() as cursor:
            found = list(weaknesses(cursor))
    except (DatabaseError, InterfaceError):
        return []  # If the database cannot be asked, whatever needs it says so.
    return [message("W008", alias=alias, said=said, advice=advice) for said, advice in found]


def _of_sqlite(cursor: Any) -> Iterator[tuple[str, str]]:
    level = int(_answer(cursor, "PRAGMA synchronous"))
    journal = _answer(cursor, "PRAGMA journal_mode")
    # In memory nothing is meant to stay; with a rollback journal NORMAL keeps what was committed.
    if journal == "memory" or level >= _SQLITE_FULL or (level and journal != "wal"):
        return
    yield (
        f"synchronous is {_SQLITE_LEVELS[level]}",
        "Add PRAGMA synchronous=FULL to OPTIONS['init_command']",
    )


def _of_postgres(cursor: Any) -> Iterator[tuple[str, str]]:
    for name in ("fsync", "synchronous_commit"):
        if _answer(cursor, f"SHOW {name}") == "off":
            yield f"{name} is off", f"Turn {name} on for this database and its role"


def _of_mysql(cursor: Any) -> Iterator[tuple[str, str]]:
    name = "innodb_flush_log_at_trx_commit"
    value = _answer(cursor, f"SELECT @@{name}")
    if value not in _MARIADB_DURABLE:
        yield f"{name} is {value}", f"Set {name} to 1 on the server"


_WEAKNESSES: Mapping[str, Callable[[Any], Iterator[tuple[str, str]]]] = {
    "sqlite": _of_sqlite,
    "postgresql": _of_postgres,
    "mysql": _of_mysql,
}


def _answer(cursor: Any, question: str) -> str:
    cursor.execute(question)
    return str(cursor.fetchone()[0])
