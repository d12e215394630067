"""The figures: medians of ratios of the same round, and how sure they are.

A figure of ``var/bench.json`` has the ``database``; ``ratio``, the median of the ratios within a
round, ``against`` which subject; ``median_us``, the microseconds of one call; and ``spread``, half
the width of the ratio's 95 % confidence interval, as a part of it. Whatever else was measured
stands beside these.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Measure:
    """What a figure compares: a subject with another one."""

    name: str
    subject: str
    against: str


def figure(
    times: Mapping[str, Sequence[float]], measure: Measure, database: str, **more: Any
) -> dict[str, Any]:
    """Compare two subjects, round by round."""
    ours, theirs = times[measure.subject], times[measure.against]
    pairs = list(zip(ours, theirs, strict=True))
    ratios = [one / other for one, other in pairs]
    return {
        "database": database,
        "ratio": round(median(ratios), 3),
        "against": measure.against,
        "median_us": round(median(ours), 1),
        "spread": round(spread(ratios), 3),
        "difference_us": round(median(one - other for one, other in pairs), 1),
        "rounds": len(ratios),
        **more,
    }


def spread(values: Sequence[float]) -> float:
    """Give half the width of the median's 95 % confidence interval, as a part of the median.

    By the order of the values alone, so that no outlier and no shape of theirs matters.
    """
    ordered, middle = sorted(values), median(values)
    steps = math.ceil(0.98 * math.sqrt(len(ordered)))
    low = ordered[max(0, len(ordered) // 2 - steps)]
    high = ordered[min(len(ordered) - 1, len(ordered) // 2 + steps)]
    return (high - low) / 2 / middle if middle else 0.0


def percentile(values: Sequence[float], part: float) -> float:
    """Give the value that so large a part of them does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(part * len(ordered)) - 1)]
