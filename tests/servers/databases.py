"""Databases of a test's own, made on the servers that the tests use and dropped again."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote

from example_project.databases import use_pure_python_driver
from tests.databases import mariadb, postgres
from tests.needed import missing

VENDORS = ("sqlite", "postgres", "mariadb")


@contextmanager
def fresh_database(vendor: str, folder: Path) -> Iterator[str]:
    """Give the URL of a new and empty database; SQLite's is a file in the folder.

    A server that cannot be reached skips the test with the reason, and fails it where the
    databases are required, so that nothing is left out unnoticed.
    """
    if vendor == "sqlite":
        yield f"sqlite:///{folder / 'shop.sqlite3'}"
        return
    name = f"poppy_servers_{os.getpid()}_{secrets.token_hex(4)}"
    make, drop, settings = MAKERS[vendor]
    try:
        make(name)
    except Exception as error:  # noqa: BLE001  whatever a driver raises, or that there is none
        missing(f"{vendor} cannot be reached: {error}")
    try:
        yield _url(vendor, {**settings(), "NAME": name})
    finally:
        drop(name)


def _on_postgres(statement: str) -> None:
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
        connection.execute(statement)


def _on_mariadb(statement: str) -> None:
    use_pure_python_driver()
    driver = import_module("MySQLdb")
    where = mariadb()
    with (
        closing(
            driver.connect(
                host=where["HOST"],
                port=int(where["PORT"]),
                user=where["USER"],
                password=where["PASSWORD"],
                connect_timeout=5,
            )
        ) as connection,
        closing(connection.cursor()) as cursor,
    ):
        cursor.execute(statement)


def _make_on_postgres(name: str) -> None:
    _on_postgres(f'CREATE DATABASE "{name}"')


def _drop_on_postgres(name: str) -> None:
    _on_postgres(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def _make_on_mariadb(name: str) -> None:
    # A site's usual collation, which ignores case.
    _on_mariadb(f"CREATE DATABASE `{name}` CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")


def _drop_on_mariadb(name: str) -> None:
    _on_mariadb(f"DROP DATABASE IF EXISTS `{name}`")


MAKERS = {
    "postgres": (_make_on_postgres, _drop_on_postgres, postgres),
    "mariadb": (_make_on_mariadb, _drop_on_mariadb, mariadb),
}
SCHEMES = {"postgres": "postgres", "mariadb": "mysql"}


def _url(vendor: str, where: dict[str, Any]) -> str:
    user, password = quote(where["USER"], safe=""), quote(where["PASSWORD"], safe="")
    host = where["HOST"]
    if host.startswith("/"):  # the directory of a socket
        return f"{SCHEMES[vendor]}://{user}:{password}@/{where['NAME']}?host={quote(host, safe='')}"
    return f"{SCHEMES[vendor]}://{user}:{password}@{host}:{where['PORT']}/{where['NAME']}"
