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
    """Which database an alias means just now, and which schema of it.

    Sites with tenants let one alias mean several, one after the other. One query, on servers.
    """
    connection = connections[alias]
    settings = connection.settings_dict
    place = (alias, settings["HOST"], settings["PORT"], settings["NAME"])
    if connection.vendor not in _PLACE:
        return place
    with connection.cursor() as cursor:
        cursor.execute(_PLACE[connection.vendor])
        return *place, *cursor.fetchone()
