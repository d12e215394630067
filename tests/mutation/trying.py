"""A pytest plugin that tries each mutant in a fork of one run, which has imported and collected.

mutmut itself begins a run of pytest for every mutant, and most of its time is collecting. Here a
child of the one run switches its mutant on and runs the tests that reach it, the fast ones first,
until one notices.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatch
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import pytest

OUTCOMES = Path("../outcomes.jsonl")
PLAN = "POPPY_MUTANTS_PLAN"  # JSON of what ``tests.mutation`` was asked for
WARM_UP = "tests/signals/test_signals.py"  # makes the database, for all children at once
SURVIVED, NOTICED = 0, 1
LEAST_S, TIMES_AS_LONG = 20, 5


def pytest_runtestloop(session: pytest.Session) -> bool:
    """Try the mutants in the place of running the tests."""
    plan = json.loads(os.environ[PLAN])
    until = time.monotonic() + plan["minutes"] * 60
    _warm_up(session)
    trials = Trials(session)
    for name in _names(plan["only"]):
        if time.monotonic() > until:
            break
        trials.begin(name, most_at_once=plan["children"])
    trials.end()
    return True


def _warm_up(session: pytest.Session) -> None:
    first = next(item for item in session.items if item.nodeid.startswith(WARM_UP))
    elsewhere = next(item for item in session.items if item.path.parent != first.path.parent)
    session.config.hook.pytest_runtest_protocol(item=first, nextitem=elsewhere)
    assert not session.testsfailed, f"{first.nodeid} fails without a mutant."


def _names(only: Sequence[str]) -> Iterator[str]:
    """Name what was not tried yet, in an order in which any beginning is a fair sample."""
    tried = {name for name, _ in read_outcomes(OUTCOMES)}
    names = [
        name
        for path in sorted(Path("poppy_operations").rglob("*.meta"))
        for name in json.loads(path.read_text())["exit_code_by_key"]
        if name not in tried and (not only or any(fnmatch(name, pattern) for pattern in only))
    ]
    names.sort(key=lambda name: sha256(name.encode()).digest())
    yield from names


def read_outcomes(path: Path) -> Iterator[tuple[str, int]]:
    """Read what came of the mutants that were tried; a line each."""
    with suppress(FileNotFoundError):
        for line in path.read_text().splitlines():
            name, code = json.loads(line)
            yield name, code


class Trials:
    """The children that are trying a mutant just now."""

    def __init__(self, session: pytest.Session) -> None:
        stats = json.loads(Path("mutmut-stats.json").read_text())
        self._session = session
        self._items = {item.nodeid: item for item in session.items}
        self._reaching = stats["tests_by_mangled_function_name"]
        self._durations = stats["duration_by_test"]
        self._running: dict[int, str] = {}

    def begin(self, name: str, *, most_at_once: int) -> None:
        """Try a mutant, as soon as fewer than that many are being tried."""
        while len(self._running) >= most_at_once:
            self._wait()
        tests = self._tests(name)
        child = os.fork()
        if child == 0:
            self._try(name, tests)
        self._running[child] = name

    def end(self) -> None:
        """Wait for the last ones."""
        while self._running:
            self._wait()

    def _tests(self, name: str) -> list[Any]:
        function = name.rpartition("__mutmut_")[0]
        known = [test for test in self._reaching.get(function, ()) if test in self._items]
        known.sort(key=self._duration)
        return [self._items[test] for test in known]

    def _duration(self, test: str) -> float:
        return float(self._durations.get(test) or 0)

    def _try(self, name: str, tests: list[Any]) -> NoReturn:
        from mutmut.mutation.trampoline import set_mutant_under_test

        code = NOTICED
        try:
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            expected = sum(self._duration(item.nodeid) for item in tests)
            signal.alarm(LEAST_S + int(TIMES_AS_LONG * expected))
            set_mutant_under_test(name)
            code = self._run(tests)
        finally:
            os._exit(code)

    def _run(self, tests: list[Any]) -> int:
        for item, following in pairwise([*tests, None]):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._session.testsfailed:
                return NOTICED
        return SURVIVED

    def _wait(self) -> None:
        child, status = os.wait()
        if child not in self._running:
            return
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what it started and left behind
        outcome = [self._running.pop(child), os.waitstatus_to_exitcode(status)]
        with OUTCOMES.open("a") as file:
            file.write(json.dumps(outcome) + "\n")
