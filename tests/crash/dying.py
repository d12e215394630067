"""Children that are killed at a chosen moment, with a signal that nobody can catch."""

from __future__ import annotations

import os
import select
import signal
import traceback
from collections.abc import Callable
from itertools import count
from typing import Any, NoReturn

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from poppy_operations.gate.performing import queued
from poppy_operations.lifecycle import claims, finishing, queueing
from tests.crash.site import moments

PATIENCE_S = 60


def die() -> NoReturn:
    """End this process as a power cut would."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError  # nobody gets here


def is_killed(run: Callable[[], object]) -> bool:
    """Run something in a forked child; say whether it was killed before it came to its end.

    Raises ``AssertionError`` with the child's traceback where it ended in any other way.
    """
    connections.close_all()  # which parent and child cannot share
    words, child_words = os.pipe()
    child = os.fork()
    if child == 0:
        _live(run, words, child_words)
    os.close(child_words)
    try:
        told = _all_of(words, child)
    finally:
        os.close(words)
        _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    assert status == 0, f"The child ended with {status}:\n{told}"
    return False


def kill_at(step: Callable[[], None], run: Callable[[], object]) -> None:
    """Kill a child that runs something, at a step or at the latest at the end."""

    def child() -> None:
        step()
        run()
        die()

    assert is_killed(child)


def _live(run: Callable[[], object], words: int, child_words: int) -> NoReturn:
    status = 1
    try:
        os.close(words)
        run()
        status = 0
    except BaseException:  # noqa: BLE001  nothing may get into the parent's tests
        os.write(child_words, traceback.format_exc().encode())
    finally:
        os._exit(status)


def _all_of(words: int, child: int) -> str:
    told = b""
    while True:
        ready, _, _ = select.select([words], [], [], PATIENCE_S)
        if not ready:
            os.kill(child, signal.SIGKILL)
            raise AssertionError(f"A child was still there after {PATIENCE_S} s.")
        part = os.read(words, 65536)
        if not part:
            return told.decode()
        told += part


def _die_before(owner: Any, name: str) -> None:
    setattr(owner, name, lambda *args, **kwargs: die())


def _die_after(owner: Any, name: str) -> None:
    call = getattr(owner, name)

    def and_die(*args: Any, **kwargs: Any) -> NoReturn:
        call(*args, **kwargs)
        die()

    setattr(owner, name, and_die)


def _die_around_finish(die_at: Callable[[Any, str], None]) -> None:
    die_at(finishing, "finish")
    die_at(finishing, "finish_external")


# Called in the child; the step at which it then dies. The last of each group is after the end of
# everything, and before the answer is sent or the message acknowledged.
OF_A_REQUEST: dict[str, Callable[[], None]] = {
    "before begin": lambda: _die_before(claims, "begin"),
    "after begin": lambda: _die_after(claims, "begin"),
}
OF_THE_ACTION: dict[str, Callable[[], None]] = {
    "before the effect": lambda: setattr(moments, "before_effect", die),
    "after the effect": lambda: setattr(moments, "after_effect", die),
    "before finish": lambda: _die_around_finish(_die_before),
    # With effects in the database, it is not committed then.
    "after finish": lambda: _die_around_finish(_die_after),
    "after the commit": lambda: _die_before(finishing, "tell_performed"),
    "at the end": lambda: None,
}
OF_ENQUEUEING: dict[str, Callable[[], None]] = {
    "before enqueue": lambda: _die_before(queued, "hand_over"),
    "after enqueue": lambda: _die_after(queued, "hand_over"),
    "at the end": lambda: None,
}
OF_A_WORKER: dict[str, Callable[[], None]] = {
    "before start": lambda: _die_before(queueing, "start"),
    "after start": lambda: _die_after(queueing, "start"),
}


class Moment:
    """Counts what a process does with its database from begin on, and dies at one of these."""

    def __init__(self, fatal: int) -> None:
        self._fatal = fatal
        self._numbers = count(1)

    def pass_by(self) -> None:
        """Be at the next moment."""
        if next(self._numbers) == self._fatal:
            die()

    def watch(self) -> None:
        """Count each statement, and each commit before and after it."""
        commit = BaseDatabaseWrapper._commit

        def watched(connection: BaseDatabaseWrapper) -> None:
            self.pass_by()
            commit(connection)
            self.pass_by()

        BaseDatabaseWrapper._commit = watched
        for connection in connections.all():
            connection.execute_wrappers.append(self._statement)

    def watch_from(self, owner: Any, name: str) -> None:
        """Begin to watch when a function is called for the first time."""
        call = getattr(owner, name)

        def watched(*args: Any, **kwargs: Any) -> Any:
            setattr(owner, name, call)
            self.watch()
            return call(*args, **kwargs)

        setattr(owner, name, watched)

    def _statement(self, execute: Any, sql: Any, params: Any, many: Any, context: Any) -> Any:
        self.pass_by()
        return execute(sql, params, many, context)
