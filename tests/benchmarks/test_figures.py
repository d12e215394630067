"""The statistics of the benchmarks: ratios of the same round, and how sure they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from benchmarks import rounds
from benchmarks.figures import Measure, figure, percentile, spread
from benchmarks.results import named
from benchmarks.rounds import Subject, play

OURS = Measure("ours", "ours", "theirs")


def test_a_machine_that_slows_down_changes_no_ratio() -> None:
    times = {"ours": [20.0, 40.0, 200.0], "theirs": [10.0, 20.0, 100.0]}

    made = figure(times, OURS, "sqlite", statements=3)

    assert made["ratio"] == 2.0
    assert made["spread"] == 0.0
    assert made["median_us"] == 40.0
    assert made["difference_us"] == 20.0
    assert (made["database"], made["against"], made["statements"]) == ("sqlite", "theirs", 3)


def test_an_outlier_is_no_median_and_widens_no_interval() -> None:
    quiet = [1.0] * 99

    assert spread([*quiet, 1000.0]) == 0.0
    assert figure({"ours": [*quiet, 1e6], "theirs": [1.0] * 100}, OURS, "sqlite")["ratio"] == 1.0


def test_the_spread_is_the_interval_in_which_the_median_lies() -> None:
    # Of 100 values the 40th to the 61st hold it with a confidence of 95 %.
    assert spread([float(number) for number in range(1, 101)]) == pytest.approx(0.198, abs=0.01)


@pytest.mark.parametrize(("part", "value"), [(0.5, 50), (0.95, 95), (0.99, 99), (1.0, 100)])
def test_a_percentile_is_not_exceeded_by_that_part(part: float, value: float) -> None:
    assert percentile([float(number) for number in range(100, 0, -1)], part) == value


def test_a_round_has_every_subject_and_prepares_and_finishes_what_it_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter(range(0, 10**9, 1000))
    monkeypatch.setattr(rounds.time, "perf_counter_ns", lambda: next(clock))
    seen: list[str] = []

    def prepare() -> Callable[[], Any]:
        seen.append("prepare")
        return lambda: seen.append("call") or "result"

    times = play([Subject("one", prepare, seen.append, times=2)], 2, warm_up=0)

    assert times == {"one": [0.5, 0.5]}
    assert seen == ["prepare", "prepare", "call", "call", "result", "result"] * 6


def test_the_least_of_a_rounds_calls_is_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0, 9000, 0, 4000, 0, 7000])
    monkeypatch.setattr(rounds.time, "perf_counter_ns", lambda: next(clock))

    assert play([Subject("one", lambda: lambda: None)], 1, warm_up=0) == {"one": [4.0]}


def test_figures_of_postgresql_have_no_suffix() -> None:
    assert named({"ask": 1}, "postgres") == {"ask": 1}
    assert named({"ask": 1}, "sqlite") == {"ask_sqlite": 1}
