"""``make mutants``: change one thing at a time in the gate and the lifecycle; do tests notice?

Works in a copy of the tree, for at most ``--minutes``. What was not tried by then is gone on with
by ``--again``; what was is a fair sample. ``--only`` takes patterns of mutants' names. It prints
the score, and the mutants that nobody noticed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.mutation.forking import SURVIVED
from tests.mutation.trying import PLAN, read_outcomes

ROOT = Path(__file__).resolve().parent.parent.parent
COPY = ROOT / "var" / "mutants"
SETTINGS = Path(__file__).parent / "mutmut.toml"
COPIED = ("poppy_operations", "tests", "example_project", "docs")
FILES = ("Makefile", "README.md", "CHANGELOG.md", "manage.py", "pyproject.toml")
LEAST_PERCENT = 90
MODEL_STEPS = "600"


def main() -> int:
    """Make the mutants, try them, and say what came of it."""
    options = _options()
    if not options.again:
        _copy()
        _make()
    _try(vars(options))
    return _say(dict(read_outcomes(COPY / "outcomes.jsonl")))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.mutation", description=__doc__)
    parser.add_argument("--minutes", type=int, default=40)
    parser.add_argument("--only", nargs="*", default=[], help="patterns of mutants' names")
    parser.add_argument("--children", type=int, default=2, help="how many at once")
    parser.add_argument("--again", action="store_true", help="go on with the last run")
    return parser.parse_args()


def _copy() -> None:
    shutil.rmtree(COPY, ignore_errors=True)
    COPY.mkdir(parents=True)
    for name in COPIED:
        unwanted = shutil.ignore_patterns("__pycache__", "var")
        shutil.copytree(ROOT / name, COPY / name, ignore=unwanted)
    for name in FILES:
        shutil.copy(ROOT / name, COPY / name)
    with (COPY / "pyproject.toml").open("a") as settings:
        settings.write(SETTINGS.read_text())


def _make() -> None:
    """Let mutmut write all mutants and learn which tests reach which function; it tries few."""
    few = "poppy_operations.gate.authorization.*__mutmut_1"
    _run([sys.executable, "-m", "mutmut", "run", few], COPY)


def _try(plan: dict[str, Any]) -> None:
    settings = tomllib.loads(SETTINGS.read_text())["tool"]["mutmut"]
    tests = [*settings["pytest_add_cli_args"], *settings["pytest_add_cli_args_test_selection"]]
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutation.trying", *tests]
    _run(pytest, COPY / "mutants", **{PLAN: json.dumps(plan)})


def _run(command: Sequence[str], folder: Path, **variables: str) -> None:
    environment = {"POPPY_MODEL_STEPS": MODEL_STEPS, **os.environ, **variables}
    subprocess.run(command, cwd=folder, env=environment, check=True)


def _say(tried: dict[str, int]) -> int:
    made = (COPY / "mutants" / "poppy_operations").rglob("*.meta")
    count = sum(len(json.loads(path.read_text())["exit_code_by_key"]) for path in made)
    missed = [name for name, code in tried.items() if code == SURVIVED]
    noticed = len(tried) - len(missed)
    percent = 100 * noticed / len(tried) if tried else 0.0
    lines = [
        f"{count} mutants, {len(tried)} tried, {noticed} noticed: {percent:.1f} %.",
        f"How the tries ended (0: not noticed, 1: a test failed, else: a signal, such as of the "
        f"time): {dict(Counter(tried.values()))}",
        *(f"Not noticed: {name}" for name in sorted(missed)),
        f"See one with: cd {COPY.relative_to(ROOT)} && mutmut show NAME",
    ]
    sys.stdout.write("\n".join(["", *lines, ""]))
    return 0 if percent >= LEAST_PERCENT else 1


if __name__ == "__main__":
    sys.exit(main())
