"""Measure on one database, in a process of its own: ``python -m benchmarks.measure``."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import django

ROUNDS = 80


def main() -> None:
    """Make the tables, measure, and write the figures to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", type=Path)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--figure", action="append", help="the name of one to measure alone")
    arguments = parser.parse_args()
    prepare()
    arguments.result.write_text(json.dumps(figures(arguments.rounds, arguments.figure)))


def prepare() -> str:
    """Set Django up, make the tables and the agent, and give the account."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.settings"
    django.setup()
    from django.core.management import call_command

    from benchmarks.agents import introduce

    call_command("migrate", "--run-syncdb", verbosity=0)
    return introduce()


def figures(rounds: int, only: Sequence[str] | None = None) -> dict[str, Any]:
    """Measure everything that is called in this process, or the named figures alone."""
    from benchmarks.agents import introduce
    from benchmarks.figures import Measure, figure
    from benchmarks.rounds import play, statements
    from benchmarks.settings import VENDOR
    from benchmarks.subjects import api, packages, passing, sessions, website

    account = introduce()
    of_requests = [
        *api.Api(account).subjects(),
        *website.Website(account).subjects(),
        *packages.subjects(),
    ]
    others = [*sessions.Sessions(account).subjects(), *passing.subjects()]
    measures: list[Measure] = [
        *api.MEASURES,
        *website.MEASURES,
        *sessions.MEASURES,
        *passing.MEASURES,
        *packages.measures(),
    ]
    if only:
        measures = [one for one in measures if one.name in only]
    sought = {name for one in measures for name in (one.subject, one.against)}
    of_requests = [one for one in of_requests if one.name in sought]
    times = play([*of_requests, *(one for one in others if one.name in sought)], rounds)
    counts = {one.name: {"statements": statements(one)} for one in of_requests}
    return {one.name: figure(times, one, VENDOR, **counts.get(one.subject, {})) for one in measures}


if __name__ == "__main__":
    main()
