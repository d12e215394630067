"""The check that the database can hold every character that terms may have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.core.checks import CheckMessage
from django.db import DatabaseError, InterfaceError, connections

from poppy_operations.checks.messages import message
from poppy_operations.models.databases import write_alias

_EVERY_CHARACTER = "utf8mb4"
_OF_COLUMNS = (
    "SELECT table_name, column_name, character_set_name FROM information_schema.columns "
    "WHERE table_schema = DATABASE() AND table_name LIKE 'poppy\\_operations\\_%%' "
    "AND character_set_name <> %s ORDER BY table_name, column_name LIMIT 1"
)


def check_characters(
    *, databases: Sequence[str] | None = None, **_named: Any
) -> list[CheckMessage]:
    """Check that MariaDB, whose older character set lacks many, holds every character.

    It asks the database, and so does nothing if Django was not told to check that database.
    """
    alias = write_alias()
    if alias not in (databases or ()) or connections[alias].vendor != "mysql":
        return []
    try:
        with connections[alias].cursor() as cursor:
            found = list(_lacking(cursor))
    except (DatabaseError, InterfaceError):
        return []  # If the database cannot be asked, whatever needs it says so.
    return [message("W011", alias=alias, said=said) for said in found]


def _lacking(cursor: Any) -> Iterator[str]:
    cursor.execute("SELECT @@character_set_connection")
    (connected,) = cursor.fetchone()
    if connected != _EVERY_CHARACTER:
        yield f"the connection uses {connected}"
    cursor.execute(_OF_COLUMNS, [_EVERY_CHARACTER])
    row = cursor.fetchone()
    if row is not None:
        table, column, used = row
        yield f"the column {table}.{column} uses {used}"
