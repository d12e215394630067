"""Commits of their own: what is written here stays, however the request ends."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TypeVar

from django.core.exceptions import ImproperlyConfigured
from django.db import (
    DatabaseError,
    InterfaceError,
    InternalError,
    OperationalError,
    connections,
    transaction,
)

from poppy_operations.lifecycle.outer_transactions import opened_by
from poppy_operations.lifecycle.passing import passes, word_of
from poppy_operations.logs import log_of
from poppy_operations.models.databases import write_alias

T = TypeVar("T")


class Busy(Exception):
    """The database could not be used, or others were faster; nothing was performed."""

    @property
    def advice(self) -> str:
        """What to do; empty if trying again does not help, such as while AUTOCOMMIT is off."""
        cause = self.__cause__
        if isinstance(cause, Busy):
            return cause.advice
        if not isinstance(cause, DatabaseError | InterfaceError):
            return ""
        return " Run it again."


class OuterTransaction(ImproperlyConfigured):
    """A gated view runs inside a transaction that could undo the claim."""

    def __init__(self) -> None:
        parts = [
            "A gated view runs inside transaction.atomic(), which could undo the record that it "
            "was performed.",
            opened_by(),
            "Put the gate outside the transaction. Under ATOMIC_REQUESTS, add "
            "poppy_operations.middleware.PersonalAgentMiddleware to MIDDLEWARE, and decorate the "
            "class with @action.gated if a view calls action.run().",
        ]
        super().__init__(" ".join(filter(None, parts)))


def ensure_autocommit() -> None:
    """Refuse a connection without AUTOCOMMIT: a durable block would not commit there."""
    connection = connections[write_alias()]
    if not connection.in_atomic_block and not connection.get_autocommit():
        message = "AUTOCOMMIT is off: nothing would be committed, so nothing is performed."
        raise Busy(message)


def durably(write: Callable[[], T]) -> T:
    """Run ``write`` in a commit of its own, and once more if the database is busy.

    Raises ``Busy`` if it still is, and ``OuterTransaction`` if an outer
    transaction could undo the commit.
    """
    try:
        return committed(write)
    except Busy:
        _drop_lost_connection()
        return committed(write)


def _drop_lost_connection() -> None:
    """Let the second try have a new connection if the first try lost its own."""
    connection = connections[write_alias()]
    if (
        connection.errors_occurred
        and not connection.in_atomic_block
        and connection.connection is not None
        and not connection.is_usable()
    ):
        connection.close()


def committed(write: Callable[[], T]) -> T:
    """Run ``write`` in a commit of its own. Raises what ``durably`` does, at the first failure."""
    with busy_if_unusable(), ExitStack() as stack:
        ensure_autocommit()
        enter_outermost(stack)
        return write()


def enter_outermost(stack: ExitStack) -> None:
    """Enter a transaction that no other transaction can undo, except for a test's own.

    Raises ``OuterTransaction`` inside any other transaction.
    """
    try:
        stack.enter_context(transaction.atomic(using=write_alias(), durable=True))
    except RuntimeError as error:
        raise OuterTransaction from error


@contextmanager
def busy_if_unusable() -> Iterator[None]:
    """Raise ``Busy`` if the database is locked, unreachable or read-only for the time being.

    An error that does not pass by itself is raised unchanged. The log names it by the database's
    own code alone, since the rest of its message may hold values.
    """
    try:
        yield
    except (OperationalError, InterfaceError, InternalError) as error:
        if passes(error):
            raise Busy(str(error)) from error
        word = word_of(error)
        log_of(logging.ERROR, "The database refused a statement, and will again: %s.", str(word))
        raise


# PostgreSQL: serialization failure, deadlock, lock not available. MariaDB: lock wait time-out,
# deadlock, record changed since it was read.
_CONTENTION_STATES = frozenset({"40001", "40P01", "55P03"})
_CONTENTION_CODES = frozenset({1205, 1213, 1020})


def is_contention(error: BaseException) -> bool:
    """Whether a database error says only that other transactions came first."""
    if not isinstance(error, OperationalError):
        return False
    if getattr(error.__cause__, "sqlstate", None) in _CONTENTION_STATES:
        return True
    code = error.args[0] if error.args else None
    return code in _CONTENTION_CODES or "database is locked" in str(error)
