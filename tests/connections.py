"""Connections to the database: closed, lost, failing, and met on by threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Barrier
from typing import Any, TypeVar

import pytest
from asgiref.sync import SyncToAsync
from django.db import OperationalError, connection, connections

from tests.databases import has_connections_of_its_own

T = TypeVar("T")
LONG = 60  # seconds that nothing takes, so that a fault ends the test


def need_connections_of_their_own() -> None:
    """Skip a test whose threads or processes would share the connection of SQLite's memory."""
    if not has_connections_of_its_own():
        pytest.skip("SQLite's memory is shared by all connections")


def together(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Make the calls at the same time, each in a thread of its own, and give what they gave."""
    barrier = Barrier(len(calls))

    def one(call: Callable[[], T]) -> T:
        try:
            barrier.wait(LONG)
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))


def be_atomic(monkeypatch: pytest.MonkeyPatch, *, atomic: bool = True) -> None:
    """Let each request be a transaction, as ATOMIC_REQUESTS says, or none."""
    monkeypatch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", atomic)
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", atomic)


def close_connections() -> None:
    """Close those of the thread in which asynchronous code runs its synchronous parts."""
    SyncToAsync.single_thread_executor.submit(connections.close_all).result()


def close_this_threads_connection() -> None:
    """Close it for good: Django keeps those to SQLite's memory open."""
    raw = connection.connection
    if raw is not None:
        raw.close()
        connection.connection = None


@dataclass
class InTheWay:
    """A database that fails the first ``times`` statements that contain ``word``."""

    word: str
    times: int
    error: Exception = field(default_factory=lambda: OperationalError("database is locked"))

    def __call__(self, execute: Callable[..., Any], sql: str, *args: Any) -> Any:
        if self.word in sql and self.times > 0:
            self.times -= 1
            raise self.error
        return execute(sql, *args)


@contextmanager
def in_the_way(word: str, times: int, error: Exception | None = None) -> Iterator[InTheWay]:
    """Let the database fail; ``times`` counts down as it does."""
    hindrance = InTheWay(word, times) if error is None else InTheWay(word, times, error)
    with connection.execute_wrapper(hindrance):
        yield hindrance


@contextmanager
def just_before(word: str, number: int, work: Callable[[], Any]) -> Iterator[None]:
    """Do something right before the so many-th statement that begins with a word, as others may."""
    found = 0

    def wait(execute: Callable[..., Any], sql: str, *args: Any) -> Any:
        nonlocal found
        found += sql.startswith(word)
        if found == number and sql.startswith(word):
            found += 1  # what is done now is not counted
            work()
        return execute(sql, *args)

    with connection.execute_wrapper(wait):
        yield


def lose_connection() -> None:
    """Let the server end this connection, as an administrator or a time-out does."""
    other = connection.copy()
    try:
        with connection.cursor() as mine, other.cursor() as theirs:
            if connection.vendor == "postgresql":
                mine.execute("SELECT pg_backend_pid()")
                theirs.execute("SELECT pg_terminate_backend(%s, 5000)", mine.fetchone())
            else:
                mine.execute("SELECT CONNECTION_ID()")
                theirs.execute(f"KILL {int(mine.fetchone()[0])}")
    finally:
        other.close()
