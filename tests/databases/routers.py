"""Routers of sites with several databases. All of them have replicas that must not decide."""

from __future__ import annotations

from typing import Any

OURS = "poppy_operations"
ELSEWHERE = "elsewhere"


class StaleRead(AssertionError):
    """Something read the tables of this app where a replica would have answered."""


class Apart:
    """Some apps have a database of their own, and their tables are in no other one."""

    apps: frozenset[str]

    def db_for_read(self, model: type, **hints: Any) -> str | None:
        """Send reads to the replica; the site's other apps have none."""
        label = model._meta.app_label  # type: ignore[attr-defined]  # every model has it
        if label == OURS:
            message = f"{model.__name__} was read from a replica."
            raise StaleRead(message)
        return ELSEWHERE if label in self.apps else None

    def db_for_write(self, model: type, **hints: Any) -> str | None:
        """Send writes to the one database."""
        label = model._meta.app_label  # type: ignore[attr-defined]  # every model has it
        return ELSEWHERE if label in self.apps else None

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        """Make each table in one database only."""
        return (db == ELSEWHERE) == (app_label in self.apps)


class WithOrders(Apart):
    """Operations and orders are in one database, accounts and browsers in another."""

    apps = frozenset({OURS, "shop"})


class Alone(Apart):
    """Operations are in a database of their own."""

    apps = frozenset({OURS})


class Replica(Apart):
    """Everything is in one database, which has a replica."""

    apps = frozenset()

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        """Make every table."""
        return True
