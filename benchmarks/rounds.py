"""Rounds: every subject a few times in each, in an order that is drawn by lot."""

from __future__ import annotations

import gc
import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

WARM_UP = 8
# The least of so many calls is the subject's time in a round: the others met somebody else's work.
CALLS = 3
TRANSACTIONS = ("BEGIN", "COMMIT", "RELEASE", "ROLLBACK", "SAVEPOINT")


def _nothing(_result: Any) -> None:
    """Nothing is left to do."""


@dataclass(frozen=True)
class Subject:
    """What is timed.

    ``prepare`` gives the call, and what it does is not timed; ``finish`` gets the call's result
    afterwards, to look at it and to bring what was begun to its end. A subject that is over in no
    time is called ``times`` in a row, each with a preparation of its own; one that makes several
    calls itself says so by ``size``.
    """

    name: str
    prepare: Callable[[], Callable[[], Any]]
    finish: Callable[[Any], None] = _nothing
    times: int = 1
    size: int = 1


def play(
    subjects: Sequence[Subject], rounds: int, *, warm_up: int = WARM_UP
) -> dict[str, list[float]]:
    """Play the rounds and give the microseconds of a call, by subject and round."""
    lot = random.Random(len(subjects))
    order = list(subjects) * CALLS
    for _ in range(warm_up):
        for subject in subjects:
            _timed(subject)
    times: dict[str, list[float]] = {subject.name: [] for subject in subjects}
    gc.collect()
    gc.freeze()
    try:
        for _ in range(rounds):
            lot.shuffle(order)
            least = dict.fromkeys(times, math.inf)
            for subject in order:
                least[subject.name] = min(least[subject.name], _timed(subject))
            for name, took in least.items():
                times[name].append(took)
    finally:
        gc.unfreeze()
    return times


def statements(subject: Subject) -> int:
    """Count the statements of one call, without those that begin and end transactions."""
    from django.db import connection

    counted: list[str] = []

    def count(execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        if not sql.startswith(TRANSACTIONS):
            counted.append(sql)
        return execute(sql, *arguments)

    call = subject.prepare()
    with connection.execute_wrapper(count):
        result = call()
    subject.finish(result)
    return len(counted)


def _timed(subject: Subject) -> float:
    calls = [subject.prepare() for _ in range(subject.times)]
    gc.collect(0)
    gc.disable()
    try:
        began = time.perf_counter_ns()
        results = [call() for call in calls]
        took = time.perf_counter_ns() - began
    finally:
        gc.enable()
    for result in results:
        subject.finish(result)
    return took / 1000 / subject.times / subject.size
