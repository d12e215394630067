"""Databases of a run's own, made before it and gone after it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.machine import keep_machine
from tests.databases import postgres, sqlite_file

VENDORS = ("postgres", "sqlite")


def settings_of(vendor: str, name: str) -> dict[str, Any]:
    """Give Django's settings for one of our databases; SQLite's name is the path of its file.

    As in production: connections are kept, and a commit is on the disk before it is answered.
    """
    found = postgres() if vendor == "postgres" else sqlite_file()
    return {**found, "NAME": name, "CONN_MAX_AGE": None}


@contextmanager
def fresh(vendor: str, folder: Path, purpose: str) -> Iterator[str]:
    """Give the name of a new and empty database, for ``settings_of``."""
    if vendor == "sqlite":
        keep_machine()
        yield str(folder / f"{purpose}.sqlite3")
        return
    name = f"poppy_benchmark_{purpose}_{os.getpid()}"
    version = _on_postgres("SHOW server_version")
    keep_machine(postgres=version[0].split()[0] if version else "")
    _on_postgres(f'CREATE DATABASE "{name}"')
    try:
        yield name
    finally:
        _on_postgres(f'DROP DATABASE "{name}" WITH (FORCE)')


def _on_postgres(statement: str) -> tuple[str, ...] | None:
    import psycopg

    where = postgres()
    with psycopg.connect(
        host=where["HOST"],
        port=where["PORT"],
        user=where["USER"],
        password=where["PASSWORD"],
        dbname="postgres",
        autocommit=True,
        connect_timeout=5,
    ) as connection:
        answer = connection.execute(statement.encode())
        return answer.fetchone() if answer.description else None
