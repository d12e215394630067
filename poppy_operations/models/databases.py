"""The database that operations are written to."""

from __future__ import annotations

from django.db import router


def write_alias() -> str:
    """The alias that our rows are written to, and read from if a read decides something."""
    from poppy_operations.models.operations import Operation

    return router.db_for_write(Operation)
