"""``make bench-growth``: fill databases, measure among their rows, and keep the figures."""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.__main__ import folder_on_disk
from benchmarks.databases import fresh
from benchmarks.figures import Measure, figure
from benchmarks.growth.beside import beside_traffic
from benchmarks.growth.crowds import VENDOR, Crowd
from benchmarks.processes import environment, run

SIZES = {"1k": 1_000, "100k": 100_000, "1m": 1_000_000}
ROUNDS = 60
SUBJECTS = {
    "ask": "ask",
    "ask_again": "ask_again",
    "website_ask": "website_ask",
    "lookup": "lookup",
    "match": "website_perform",
}
PURGE_S = 40
PARTS = ("crowds", "memory")


def main() -> None:
    """Measure, and say how long it took."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--largest", type=int, default=SIZES["1m"], help="instead of a million")
    arguments = parser.parse_args()
    began = time.monotonic()
    figures: dict[str, Any] = {}
    with folder_on_disk() as folder:
        if arguments.only != "memory":
            sizes = {name: min(size, arguments.largest) for name, size in SIZES.items()}
            with _crowds(folder, sizes) as crowds:
                figures |= _of_crowds(crowds, arguments.rounds)
                figures |= _of_purge(crowds)
        if arguments.only != "crowds":
            figures |= _of_memory(folder)
    results.show(figures)
    results.keep(figures)
    print(f"{time.monotonic() - began:.0f} seconds. The figures are in {results.RESULTS}.")


@contextmanager
def _crowds(folder: Path, sizes: Mapping[str, int]) -> Iterator[dict[str, Crowd]]:
    """Fill a database of each size. Half of the largest can be forgotten at once."""
    largest = list(sizes)[-1]
    with ExitStack() as stack:
        crowds = {}
        for name, size in sizes.items():
            database = stack.enter_context(fresh(VENDOR, folder, name))
            old = size // 2 if name == largest else 0
            crowds[name] = Crowd(size, old, database, folder)
            stack.callback(crowds[name].close)
        for crowd in crowds.values():
            crowd.answer()
        yield crowds


def _of_crowds(crowds: Mapping[str, Crowd], rounds: int) -> dict[str, Any]:
    lot, order = random.Random(1), list(crowds)
    times: dict[str, list[float]] = {}
    for _ in range(rounds):
        lot.shuffle(order)
        for size in order:
            for subject, took in crowds[size].ask("round").items():
                times.setdefault(f"{subject}_{size}", []).append(took)
    measures = [
        *(
            Measure(f"{name}_{size}", f"{subject}_{size}", f"{subject}_1k")
            for name, subject in SUBJECTS.items()
            for size in crowds
        ),
        Measure("ask_again_50_live", "ask_again_50_live_1k", "ask_again_1k"),
        Measure("match_50_live", "match_50_live_1k", "website_perform_1k"),
    ]
    return {one.name: figure(times, one, VENDOR) for one in measures}


def _of_purge(crowds: Mapping[str, Crowd]) -> dict[str, Any]:
    *_, largest = crowds.values()
    found = beside_traffic(largest)
    ended = {name: crowd.ask("purge", PURGE_S, 3) for name, crowd in crowds.items()}
    each = {name: one["seconds"] / max(one["operations"], 1) * 1e6 for name, one in ended.items()}
    for name, one in ended.items():
        found[f"purge_{name}"] = {
            "database": VENDOR,
            "ratio": round(each[name] / each["1k"], 3),
            "against": "purge_1k",
            "median_us": round(each[name], 1),
            "spread": 0.0,
            "operations_a_second": round(1e6 / each[name]),
            **one,
        }
    return found


def _of_memory(folder: Path) -> dict[str, Any]:
    with fresh(VENDOR, folder, "memory") as database:
        result = folder / "memory.json"
        where = environment(VENDOR, database, folder)
        run("benchmarks.growth.memory", str(result), environment=where)
        found: dict[str, Any] = json.loads(result.read_text())
        return found


if __name__ == "__main__":
    main()
