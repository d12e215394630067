"""The transactions that Django would have opened around the site's own code."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import TypeVar

from django.db import connections, transaction

from poppy_operations.gate.sync_and_async import Steps, database

T = TypeVar("T")


def transacted(aliases: Sequence[str], inner: Steps[T]) -> Steps[T]:
    """Run the site's steps in the transactions that Django would have opened."""
    if not aliases:
        return (yield from inner)
    stack = ExitStack()
    try:
        yield from database(partial(_enter_all, stack, aliases))
        result = yield from inner
    except BaseException as raised:
        yield from database(partial(stack.__exit__, type(raised), raised, raised.__traceback__))
        raise
    yield from database(stack.close)
    return result


def _enter_all(stack: ExitStack, aliases: Sequence[str]) -> None:
    for alias in aliases:
        stack.enter_context(transaction.atomic(using=alias))


def mark_for_rollback(ours: Sequence[str] = ()) -> None:
    """Let transactions roll back without an exception: Django's around views, and ``ours``."""
    for connection in connections.all():
        is_around = connection.settings_dict["ATOMIC_REQUESTS"] or connection.alias in ours
        if is_around and connection.in_atomic_block:
            connection.set_rollback(True)
