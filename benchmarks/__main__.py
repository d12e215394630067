"""``make bench``: measure on every database, print the figures and keep them."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.databases import VENDORS, fresh
from benchmarks.measure import ROUNDS
from benchmarks.processes import environment, run


def main() -> None:
    """Measure, and say how long it took."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--database", choices=VENDORS, action="append")
    parser.add_argument("--without-load", action="store_true", help="leave gunicorn out")
    parser.add_argument("--figure", action="append", default=[], help="a figure, without gunicorn")
    arguments = parser.parse_args()
    began = time.monotonic()
    for vendor in arguments.database or VENDORS:
        with_load = not (arguments.without_load or arguments.figure)
        figures = _measured(vendor, arguments.rounds, arguments.figure, with_load=with_load)
        results.show(figures)
        results.keep(figures)
    print(f"{time.monotonic() - began:.0f} seconds. The figures are in {results.RESULTS}.")


@contextmanager
def folder_on_disk() -> Iterator[Path]:
    """Give a folder that is gone afterwards, on a disk: a temporary one may be in memory."""
    results.RESULTS.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=results.RESULTS.parent) as path:
        yield Path(path)


def _measured(vendor: str, rounds: int, only: Sequence[str], *, with_load: bool) -> dict[str, Any]:
    with folder_on_disk() as folder, fresh(vendor, folder, "bench") as name:
        found: dict[str, Any] = {}
        named = [word for name in only for word in ("--figure", name)]
        steps = {"benchmarks.measure": ["--rounds", str(rounds), *named]}
        if with_load:
            steps["benchmarks.load"] = []
        for module, options in steps.items():
            result = folder / f"{module}.json"
            run(module, str(result), *options, environment=environment(vendor, name, folder))
            found |= json.loads(result.read_text())
    return results.named(found, vendor)


if __name__ == "__main__":
    main()
