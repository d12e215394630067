"""``var/bench.json``: kept between runs, each of which replaces what it measured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
RESULTS = PROJECT / "var" / "bench.json"
# The database that names without a suffix are about.
FIRST = "postgres"


def named(figures: Mapping[str, Any], vendor: str) -> dict[str, Any]:
    """Name the figures of a database: those of any but PostgreSQL end with its name."""
    suffix = "" if vendor == FIRST else f"_{vendor}"
    return {f"{name}{suffix}": figure for name, figure in figures.items()}


def read() -> dict[str, Any]:
    """Give what was measured last."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def keep(figures: Mapping[str, Any]) -> None:
    """Put figures in the place of those of the same names."""
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({**read(), **figures}, indent=1) + "\n")


def show(figures: Mapping[str, Any]) -> None:
    """Print a table."""
    print(f"{'':42} {'database':9} {'ratio':>7} {'±':>6} {'median':>11}  against")
    for name, one in figures.items():
        print(
            f"{name:42} {one['database']:9} {one['ratio']:7.2f} {one['spread']:6.1%} "
            f"{one['median_us']:8.0f} µs  {one['against']}{_more(one)}"
        )


def _more(figure: Mapping[str, Any]) -> str:
    known = {"database", "ratio", "against", "median_us", "spread", "rounds", "difference_us"}
    more = {name: value for name, value in figure.items() if name not in known}
    said = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in more.items())
    return f"  ({said})" if said else ""
