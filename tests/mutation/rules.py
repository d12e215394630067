"""``make rules``: break one rule at a time; do the tests that claim it notice?

``--only`` takes texts that are in the names of rows, such as an id or a file. ``--again`` goes on
with the last run of them all. ``--suite`` runs all tests where neither the claims nor the folder
have noticed. It names what was not noticed by those who claim it, and by whom else it was. Tests
that have noticed a row in an earlier run are asked first.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
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
    rules = chosen(options.only)
    if options.only:
        with tempfile.TemporaryDirectory() as folder:
            return _broken(options, rules, Path(folder))
    if not options.again:
        shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    return _broken(options, rules, FOLDER)


def _broken(options: argparse.Namespace, rules: Sequence[BrokenRule], folder: Path) -> int:
    where = ["tests"] if options.suite else _where(rules)
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
    return say(rules, outcomes)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.mutation.rules", description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="texts in the names of rows")
    parser.add_argument("--again", action="store_true", help="go on with the last run")
    parser.add_argument("--suite", action="store_true", help="ask all tests, if nobody noticed")
    parser.add_argument("--pytest", nargs="*", default=[], help="further arguments, such as --ds=…")
    return parser.parse_args()


def _where(rules: Sequence[BrokenRule]) -> list[str]:
    """The files and folders of the tests that are asked; less is collected then."""
    folders = {rule.folder for rule in rules}
    claims = [test for rule in rules for tests in claimants(rule).values() for test in tests]
    files = {test.partition("::")[0] for test in [*claims, WARM_UP]}
    return sorted(folders) + sorted(
        file for file in files if not any(file.startswith(f"{folder}/") for folder in folders)
    )


def say(rules: Sequence[BrokenRule], noticed: dict[str, Noticed]) -> int:
    """Print who noticed what; give the exit status."""
    tried = [(rule, noticed[rule.name]) for rule in rules if rule.name in noticed]
    counts = {"claims": 0, "claims noticed": 0, "folder": 0, "nobody": 0}
    lines: list[str] = []
    bad = 0
    for rule, came in tried:
        counts["claims"] += len(came.claimed)
        counts["claims noticed"] += sum(test is not None for test in came.claimed.values())
        counts["folder"] += came.folder is not None
        missed = [name for name, test in came.claimed.items() if test is None]
        someone = came.folder or came.suite or next(filter(None, came.claimed.values()), None)
        counts["nobody"] += someone is None
        if missed or someone is None:
            bad += not rule.explained
            by = f"by {someone}" if someone else "by nobody"
            lines.append(f"{rule.name}: not noticed by {', '.join(missed) or 'a test'}, but {by}")
            lines += [f"    {rule.explained}"] if rule.explained else []
        elif came.folder is None:
            lines.append(f"{rule.name}: not noticed in {rule.folder}, but by {someone}")
    percent = 100 * counts["folder"] / len(tried) if tried else 0.0
    summary = (
        f"{len(tried)} of {len(rules)} rules were broken. {counts['claims noticed']} of "
        f"{counts['claims']} claims were noticed by a test that makes them; the folder about it "
        f"noticed {percent:.1f} %; nobody noticed {counts['nobody']}."
    )
    sys.stdout.write("\n".join(["", *lines, summary, ""]))
    return int(bad > 0 or percent < LEAST_PERCENT_BY_FOLDER or len(tried) < len(rules))


if __name__ == "__main__":
    sys.exit(main())
