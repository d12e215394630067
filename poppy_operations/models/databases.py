"""The database that operations are written to."""

from __future__ import annotations

from typing import Final

from django.db import connections, router

_PLACE: Final = {"postgresql": "SELECT current_schema()", "mysql": "SELECT DATABASE()"}


def write_alias() -> str:
    """The alias that our rows are written to, and read from if a read decides something."""
    from poppy_operations.models.operations import Operation

    return router.db_for_write(Operation)


def place_of(alias: str) -> tuple[object, ...]:
    """The database that an alias stands for just now, and the schema in it.

    On sites with tenants, an alias stands for several in turn. Takes one query, and none on SQLite.
    """
    connection = connections[alias]
    settings = connection.settings_dict
    place = (alias, settings["HOST"], settings["PORT"], settings["NAME"])
    if connection.vendor not in _PLACE:
        return place
    with connection.cursor() as cursor:
        cursor.execute(_PLACE[connection.vendor])
        return *place, *cursor.fetchone()
