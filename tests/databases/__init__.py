"""The databases that the tests run on, for the settings of each and for tests that ask."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections

# Two runs at a time on one server need names of their own.
NAME = os.environ.get("POPPY_TEST_DATABASE", "poppy_operations")


def postgres() -> dict[str, Any]:
    """Give the settings of a PostgreSQL server, found as its own clients find it."""
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": NAME,
        "HOST": os.environ.get("PGHOST", "127.0.0.1"),
        "PORT": os.environ.get("PGPORT", "5432"),
        "USER": os.environ.get("PGUSER", "postgres"),
        "PASSWORD": os.environ.get("PGPASSWORD", ""),
    }


def mariadb() -> dict[str, Any]:
    """Give the settings of a MariaDB server, with its usual collation, which ignores case."""
    return {
        "ENGINE": "django.db.backends.mysql",
        "NAME": NAME,
        "HOST": os.environ.get("MARIADB_HOST", "127.0.0.1"),
        "PORT": os.environ.get("MARIADB_PORT", "3306"),
        "USER": os.environ.get("MARIADB_USER", "root"),
        "PASSWORD": os.environ.get("MARIADB_PASSWORD", ""),
        "OPTIONS": {"charset": "utf8mb4"},
        "TEST": {"CHARSET": "utf8mb4", "COLLATION": "utf8mb4_general_ci"},
    }


def sqlite_file() -> dict[str, Any]:
    """Give the settings of an SQLite file that several connections may write, as docs advise."""
    path = Path(tempfile.gettempdir()) / f"{NAME}-{os.getuid()}.sqlite3"
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(path),
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
        },
        "TEST": {"NAME": f"{path}.test"},
    }


def has_connections_of_its_own(alias: str = DEFAULT_DB_ALIAS) -> bool:
    """Say whether threads and processes can meet on this database, each with a connection.

    Not in SQLite's memory, where all connections of one process share one cache and its locks.
    """
    connection: Any = connections[alias]
    return connection.vendor != "sqlite" or not connection.is_in_memory_db()
