"""Children of one run of pytest, which has imported and collected everything already."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NoReturn

import pytest

WARM_UP = "tests/signals/test_signals.py"  # makes the database, for all children at once
# What a child says by its exit status. A fault is its own; whatever hangs or crashes says others.
SURVIVED, NOTICED, FAULT = 0, 1, 70


def warm_up(session: pytest.Session) -> None:
    """Run one test, so that children find a database."""
    first = next(item for item in session.items if item.nodeid.startswith(WARM_UP))
    run(first, elsewhere(session, first))
    assert not session.testsfailed, f"{first.nodeid} fails without a change."


def elsewhere(session: pytest.Session, item: pytest.Item) -> pytest.Item:
    """Some test of another folder: with it next, what an item has set up is taken down."""
    return next(one for one in session.items if one.path.parent != item.path.parent)


def run(item: pytest.Item, following: pytest.Item | None) -> None:
    """Run one test as pytest does."""
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


class Children:
    """Children that are trying something just now. ``ended`` hears of each one that ends."""

    def __init__(self, ended: Callable[[str, int], None]) -> None:
        self._ended = ended
        self._running: dict[int, str] = {}

    def begin(self, name: str, work: Callable[[], int], *, most_at_once: int) -> None:
        """Let a child do some work, as soon as fewer than that many are at work."""
        while len(self._running) >= most_at_once:
            self._wait()
        child = os.fork()
        if child == 0:
            _be_child(work)
        self._running[child] = name

    def end(self) -> None:
        """Wait for the last ones."""
        while self._running:
            self._wait()

    def _wait(self) -> None:
        child, status = os.wait()
        if child not in self._running:
            return
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what it started and left behind
        self._ended(self._running.pop(child), os.waitstatus_to_exitcode(status))


def _be_child(work: Callable[[], int]) -> NoReturn:
    code = FAULT
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = work()
    finally:
        os._exit(code)


def items_by_test(items: Iterable[Any]) -> dict[str, list[Any]]:
    """The items of each test function, which may have several sets of parameters."""
    found: dict[str, list[Any]] = {}
    for item in items:
        found.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return found
