"""``make rules``: break one rule at a time; do the tests that claim it notice?

``--only`` takes texts that are in the names of rows, such as an id or a file. ``--again`` goes on
with the last run of them all. ``--who claims`` asks none but the tests that claim, and ``--who
suite`` asks all tests where neither they nor the folder have noticed. It names what was not noticed
by those who claim it, and by whom else it was. Tests that have noticed a row in an earlier run are
asked first.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from tests.conformance.claims import ROOT
from tests.mutation.broken_rules import BrokenRule
from tests.mutation.forking import WARM_UP
from tests.mutation.trying_rules import (
    EARLIER,
    OUTCOMES,
    PLAN,
    Noticed,
    chosen,
    claimants,
    read_outcomes,
)

FOLDER = ROOT / "var" / "rules"
LEAST_PERCENT_BY_FOLDER = 95
FAST = ("-p", "no:cacheprovider", "-p", "no:xdist", "--tb=no")
NOT_HERE = "not servers and not browser and not crash and not packages and not races"


def main() -> int:
    """Break the rules, and say who noticed."""
    options = _options()
    rules = chosen(options.only, options.who)
    if options.only:
        with tempfile.TemporaryDirectory() as folder:
            return _broken(options, rules, Path(folder))
    if not options.again:
        shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    return _broken(options, rules, FOLDER)


def _broken(options: argparse.Namespace, rules: Sequence[BrokenRule], folder: Path) -> int:
    where = _where(rules, options.who)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutation.trying_rules", *FAST]
    command += ["-m", NOT_HERE, *options.pytest, *where]
    earlier = ROOT / "var" / EARLIER
    places = {"folder": str(folder), "earlier": str(earlier)}
    environment = {**os.environ, PLAN: json.dumps({**vars(options), **places})}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    outcomes = read_outcomes(folder / OUTCOMES)
    earlier.parent.mkdir(exist_ok=True)
    known = {**read_outcomes(earlier), **outcomes}
    earlier.write_text("".join(f"{json.dumps(asdict(one))}\n" for one in known.values()))
    return say(rules, outcomes, with_folder=options.who != "claims")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.mutation.rules", description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="texts in the names of rows")
    parser.add_argument("--again", action="store_true", help="go on with the last run")
    parser.add_argument("--who", choices=("claims", "folder", "suite"), default="folder")
    parser.add_argument("--pytest", nargs="*", default=[], help="further arguments, such as --ds=…")
    return parser.parse_args()


def _where(rules: Sequence[BrokenRule], who: str) -> list[str]:
    """The files and folders of the tests that are asked; less is collected then."""
    if who == "suite":
        return ["tests"]
    folders = {rule.folder for rule in rules if who == "folder"}
    claims = [test for rule in rules for tests in claimants(rule).values() for test in tests]
    files = {test.partition("::")[0] for test in [*claims, WARM_UP]}
    return sorted(folders) + sorted(
        file for file in files if not any(file.startswith(f"{folder}/") for folder in folders)
    )


def say(
    rules: Sequence[BrokenRule], noticed: Mapping[str, Noticed], *, with_folder: bool = True
) -> int:
    """Print who noticed what; give the exit status."""
    tried = [(rule, noticed[rule.name]) for rule in rules if rule.name in noticed]
    claimed = [test for _, came in tried for test in came.claimed.values()]
    by_folder = sum(came.folder is not None for _, came in tried)
    percent = 100 * by_folder / len(tried) if tried else 0.0
    lines, faults = [""], 0
    for rule, came in tried:
        told = _told(rule, came, with_folder=with_folder)
        lines += told
        faults += bool(told) and not rule.explained and ": not noticed by " in told[0]
    lines.append(
        f"{len(tried)} of {len(rules)} rules were broken. {len(claimed) - claimed.count(None)} of "
        f"{len(claimed)} claims were noticed by a test that makes them."
    )
    if with_folder:
        lines.append(f"The folders about them noticed {by_folder} of them, {percent:.1f} %.")
    sys.stdout.write("\n".join([*lines, ""]))
    too_few = with_folder and percent < LEAST_PERCENT_BY_FOLDER
    return int(faults > 0 or too_few or len(tried) < len(rules))


def _told(rule: BrokenRule, came: Noticed, *, with_folder: bool) -> list[str]:
    """What there is to say of a rule that not all have noticed who should."""
    missed = [name for name, test in came.claimed.items() if test is None]
    someone = came.folder or came.suite or next(filter(None, came.claimed.values()), None)
    if missed or someone is None:
        by = f"by {someone}" if someone else "by nobody"
        line = f"{rule.name}: not noticed by {', '.join(missed) or 'a test'}, but {by}"
    elif with_folder and came.folder is None:
        line = f"{rule.name}: not noticed in {rule.folder}, but by {someone}"
    else:
        return []
    return [line, f"    {rule.explained}"] if rule.explained else [line]


if __name__ == "__main__":
    sys.exit(main())
