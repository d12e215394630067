"""A purge of half a million operations while agents are served, in two processes of one site."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from statistics import median
from typing import Any

from benchmarks.figures import percentile, spread
from benchmarks.growth.crowds import VENDOR, Crowd
from benchmarks.growth.locks import Locks

ALONE_S, BESIDE_S = 15, 150


def beside_traffic(crowd: Crowd) -> dict[str, Any]:
    """Serve alone, then beside the purge, and compare."""
    with closing(Crowd(0, 0, crowd.database, crowd.folder)) as traffic:
        traffic.answer()
        alone = traffic.ask("serve", ALONE_S)["times"]
        times: list[float] = []
        with Locks(crowd.database, crowd.ask("pid")) as locks:
            crowd.say("purge", BESIDE_S)
            while not crowd.has_answered():
                times += traffic.ask("serve", 1)["times"]
            purged = crowd.answer()
    held = round(locks.longest_s * 1000, 1)
    per_second = round(purged["operations"] / purged["seconds"])
    return {
        "traffic_alone": _figure(alone, alone),
        "traffic_beside_purge": _figure(times, alone)
        | {**purged, "operations_a_second": per_second, "longest_locks_ms": held},
    }


def _figure(times: Sequence[float], alone: Sequence[float]) -> dict[str, Any]:
    return {
        "database": VENDOR,
        "ratio": round(median(times) / median(alone), 3),
        "against": "traffic_alone",
        "median_us": round(median(times), 1),
        "spread": round(spread(times), 3),
        "p95_us": round(percentile(times, 0.95)),
        "p99_us": round(percentile(times, 0.99)),
    }
