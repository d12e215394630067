"""Sites that differ in nothing but their databases, one after the other in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management import call_command
from django.db import connections, router, transaction
from django.test import override_settings

from example_project.databases import database_from_url
from tests.databases.pooler import pooled
from tests.databases.routers import ELSEWHERE
from tests.needed import missing
from tests.servers.databases import fresh_database

DJANGOS = ("admin", "auth", "contenttypes", "sessions")
WRITTEN = frozenset({"admin", "auth", "poppy_operations", "sessions", "shop"})
# psycopg.IsolationLevel, which is not installed everywhere.
READ_COMMITTED, REPEATABLE_READ, SERIALIZABLE = 2, 3, 4
SQLITE_OPTIONS = {
    "timeout": 20,
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
}


def isolated(level: int) -> dict[str, Any]:
    """PostgreSQL's option for an isolation level."""
    return {"OPTIONS": {"isolation_level": level}}


def mariadb_isolated(level: str, command: str = "") -> dict[str, Any]:
    """MariaDB's options for an isolation level."""
    options = {"charset": "utf8mb4", "isolation_level": level}
    return {"OPTIONS": {**options, "init_command": command} if command else options}


def locking(mode: str | None) -> dict[str, Any]:
    """SQLite's options for how a transaction begins."""
    return {"OPTIONS": {**SQLITE_OPTIONS, **({"transaction_mode": mode} if mode else {})}}


@dataclass(frozen=True)
class Site:
    """Where a site keeps what, and how: the settings of each alias beside its place."""

    vendor: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    router: str = ""
    has_two: bool = False
    atomic: frozenset[str] = frozenset()
    pooled: bool = False


BOTH = frozenset({"default", ELSEWHERE})
ISOLATED = {
    "postgres-read-committed": Site("postgres", isolated(READ_COMMITTED)),
    "postgres-repeatable-read": Site("postgres", isolated(REPEATABLE_READ)),
    "postgres-serializable": Site("postgres", isolated(SERIALIZABLE)),
    "postgres-pooled": Site("postgres", pooled=True),
    "mariadb-read-committed": Site("mariadb", mariadb_isolated("read committed")),
    "mariadb-repeatable-read": Site("mariadb", mariadb_isolated("repeatable read")),
    "mariadb-snapshot": Site(
        "mariadb",
        mariadb_isolated("repeatable read", "SET SESSION innodb_snapshot_isolation = ON"),
    ),
    "sqlite-immediate": Site("sqlite", locking("IMMEDIATE")),
    "sqlite-deferred": Site("sqlite", locking(None)),
}
REPLICA = Site("postgres", router="Replica")
WITH_ORDERS = {
    "autocommit": Site("postgres", router="WithOrders", has_two=True),
    "default": Site("postgres", router="WithOrders", has_two=True, atomic=frozenset({"default"})),
    ELSEWHERE: Site("postgres", router="WithOrders", has_two=True, atomic=frozenset({ELSEWHERE})),
    "both": Site("postgres", router="WithOrders", has_two=True, atomic=BOTH),
}
ALONE = {
    "autocommit": Site("postgres", router="Alone", has_two=True),
    "both": Site("postgres", router="Alone", has_two=True, atomic=BOTH),
}


class Places:
    """Databases for the sites, each made and migrated when the first of them needs it."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._made: dict[tuple[str, ...], dict[str, Any]] = {}

    @contextmanager
    def serving(self, site: Site) -> Iterator[Site]:
        """Make this process the site's, for as long as it lasts."""
        router = f"tests.databases.routers.{site.router}"
        with override_settings(DATABASE_ROUTERS=[router] if site.router else []), ExitStack() as on:
            databases = {"default": self._database(site, "default")}
            if site.has_two:
                databases[ELSEWHERE] = self._database(site, ELSEWHERE)
            for alias, settings in databases.items():
                settings |= {**site.settings, "ATOMIC_REQUESTS": alias in site.atomic}
            if site.pooled:
                databases["default"] = on.enter_context(_pooled(databases["default"]))
            on.enter_context(connected(databases))
            yield site

    def _database(self, site: Site, alias: str) -> dict[str, Any]:
        key = (site.vendor, site.router if site.has_two else "", alias)
        if key not in self._made:
            folder = self._folder / "-".join(key)
            folder.mkdir()
            url = self._stack.enter_context(fresh_database(site.vendor, folder))
            made = database_from_url(url, base=folder)
            # Django's own tables are made as they are by now, which is quicker.
            own = override_settings(MIGRATION_MODULES=dict.fromkeys(DJANGOS))
            with own, connected({"default": made, alias: made}):
                call_command("migrate", database=alias, run_syncdb=True, verbosity=0)
            self._made[key] = made
        return dict(self._made[key])


@contextmanager
def connected(databases: Mapping[str, Mapping[str, Any]]) -> Iterator[None]:
    """Put other databases in the place of those that the tests run on."""
    before = connections.settings
    outer = {alias: connections[alias] for alias in before}
    for alias in outer:
        del connections[alias]
    connections.settings = connections.configure_settings(
        {alias: dict(settings) for alias, settings in databases.items()}
    )
    try:
        yield
    finally:
        connections.close_all()
        for alias in list(databases):
            if hasattr(connections._connections, alias):
                del connections[alias]
        connections.settings = before
        for alias, connection in outer.items():
            connections[alias] = connection


@contextmanager
def _pooled(settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
    with ExitStack() as stack:
        try:
            behind = stack.enter_context(pooled(settings))
        except FileNotFoundError as error:
            missing(str(error))
        yield behind


def wipe() -> None:
    """Forget everything that an earlier test wrote, wherever it is."""
    for alias in connections:
        connection = connections[alias]
        with (
            connection.constraint_checks_disabled(),
            transaction.atomic(using=alias),
            connection.cursor() as cursor,
        ):
            for model in apps.get_models():
                options = model._meta
                is_written = options.managed and options.app_label in WRITTEN
                if is_written and router.allow_migrate_model(alias, model):
                    table = connection.ops.quote_name(model._meta.db_table)
                    cursor.execute(f"DELETE FROM {table}")
