"""Gives each test the time that its kind may take, and ``make test`` a choice of many cases.

What starts servers, browsers or other processes may take longer than the limit of all the others,
which ``pyproject.toml`` sets. A test's own ``timeout`` stays.

Of a parametrised test that uses the database, ``make test`` runs a few cases, spread over all of
them. The others are marked ``slow``, like the tests that take long by themselves: ``make slow`` and
a stage of ``.ci/run`` run them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pytest

TAKES_LONGER = ("browser", "crash", "packages", "races", "servers")
LONGER_S = 300
FEW = 2
DATABASE = frozenset({"db", "transactional_db"})


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Mark what was collected, before pytest selects by marks."""
    for item in items:
        if _is_long(item) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(LONGER_S))
    for cases in _cases_in_the_database(items):
        kept = spread(len(cases), min(len(cases), FEW))
        for number, case in enumerate(cases):
            if number not in kept:
                case.add_marker(pytest.mark.slow)


def spread(count: int, wanted: int) -> set[int]:
    """Choose so many of the numbers below ``count``, from the first on, far from each other."""
    return {number * count // wanted for number in range(wanted)}


def _is_long(item: pytest.Item) -> bool:
    return any(mark.name in TAKES_LONGER for mark in item.iter_markers())


def _cases_in_the_database(items: Sequence[pytest.Item]) -> list[list[pytest.Item]]:
    """The cases of each function, where a case may be long enough for a choice to matter."""
    cases = defaultdict(list)
    for item in items:
        if _uses_the_database(item) and not _is_long(item):
            cases[item.nodeid.partition("[")[0]].append(item)
    return list(cases.values())


def _uses_the_database(item: Any) -> bool:
    names = getattr(item, "fixturenames", ())
    return item.get_closest_marker("django_db") is not None or not DATABASE.isdisjoint(names)
