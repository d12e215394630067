"""Rounds: every subject once in each, in an order that is drawn by lot."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

WARM_UP = 8


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


def play(subjects: Sequence[Subject], rounds: int, seed: int = 1) -> dict[str, list[float]]:
    """Play the rounds and give the microseconds of each call, by subject and round."""
    lot = random.Random(seed)
    order = list(subjects)
    for _ in range(WARM_UP):
        for subject in order:
            _timed(subject)
    times: dict[str, list[float]] = {subject.name: [] for subject in subjects}
    gc.collect()
    gc.freeze()
    try:
        for _ in range(rounds):
            lot.shuffle(order)
            for subject in order:
                times[subject.name].append(_timed(subject))
    finally:
        gc.unfreeze()
    return times


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
