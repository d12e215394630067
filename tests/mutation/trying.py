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
from functools import partial
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.mutation.forking import NOTICED, SURVIVED, Children, run, warm_up

OUTCOMES = Path("../outcomes.jsonl")
PLAN = "POPPY_MUTANTS_PLAN"  # JSON of what ``tests.mutation`` was asked for
LEAST_S, TIMES_AS_LONG = 20, 5


def pytest_runtestloop(session: pytest.Session) -> bool:
    """Try the mutants in the place of running the tests."""
    plan = json.loads(os.environ[PLAN])
    until = time.monotonic() + plan["minutes"] * 60
    warm_up(session)
    trials = Trials(session)
    children = Children(_ended)
    for name in _names(plan["only"]):
        if time.monotonic() > until:
            break
        children.begin(name, partial(trials.of, name), most_at_once=plan["children"])
    children.end()
    return True


def _ended(name: str, code: int) -> None:
    with OUTCOMES.open("a") as file:
        file.write(json.dumps([name, code]) + "\n")


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
    """Which tests reach which function, and how long they take."""

    def __init__(self, session: pytest.Session) -> None:
        stats = json.loads(Path("mutmut-stats.json").read_text())
        self._session = session
        self._items = {item.nodeid: item for item in session.items}
        self._reaching = stats["tests_by_mangled_function_name"]
        self._durations = stats["duration_by_test"]

    def of(self, name: str) -> int:
        """Try a mutant, in a child."""
        from mutmut.mutation.trampoline import set_mutant_under_test

        tests = self._tests(name)
        expected = sum(self._duration(item.nodeid) for item in tests)
        signal.alarm(LEAST_S + int(TIMES_AS_LONG * expected))
        set_mutant_under_test(name)
        for item, following in pairwise([*tests, None]):
            run(item, following)
            if self._session.testsfailed:
                return NOTICED
        return SURVIVED

    def _tests(self, name: str) -> list[Any]:
        function = name.rpartition("__mutmut_")[0]
        known = [test for test in self._reaching.get(function, ()) if test in self._items]
        known.sort(key=self._duration)
        return [self._items[test] for test in known]

    def _duration(self, test: str) -> float:
        return float(self._durations.get(test) or 0)
