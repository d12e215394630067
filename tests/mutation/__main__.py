"""``make mutants``: change one thing at a time in the gate and the lifecycle; do tests notice?

Works in a copy of the tree, for at most ``--minutes``. ``--only`` takes patterns of mutants'
names: ``'*__mutmut_5'`` is the fifth one of every function, a sample. What was not tried yet is
gone on with by ``--again``. It prints the score, and the mutants that nobody noticed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
COPY = ROOT / "var" / "mutants"
COPIED = ("poppy_operations", "tests", "example_project", "docs")
FILES = ("Makefile", "README.md", "CHANGELOG.md", "manage.py", "pyproject.toml")
LEAST_PERCENT = 90
MODEL_STEPS = "600"
# mutmut's exit codes: tests failed, or did not end in time.
NOTICED = frozenset({1, 3, 24, -24, 36, 152, 255})


def main() -> int:
    """Make the mutants, try them, and say what came of it."""
    options = _options()
    if not options.again:
        _copy()
    mutmut = [sys.executable, "-m", "mutmut", "run", f"--max-children={options.children}"]
    _run([*mutmut, *options.only], options.minutes)
    return _say(_outcomes())


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
        settings.write((Path(__file__).parent / "mutmut.toml").read_text())


def _run(command: Sequence[str], minutes: int) -> None:
    steps = {"POPPY_MODEL_STEPS": MODEL_STEPS, **os.environ}
    with subprocess.Popen(command, cwd=COPY, env=steps, start_new_session=True) as running:
        try:
            running.wait(minutes * 60)
        except subprocess.TimeoutExpired:
            sys.stdout.write(f"\nStopped after {minutes} minutes.\n")
            # What was found out so far is on disk; the children are to end as well.
            os.killpg(running.pid, signal.SIGTERM)


def _outcomes() -> dict[str, int | None]:
    return dict(_read())


def _read() -> Iterator[tuple[str, int | None]]:
    for path in sorted((COPY / "mutants").rglob("*.meta")):
        yield from json.loads(path.read_text())["exit_code_by_key"].items()


def _say(outcomes: dict[str, int | None]) -> int:
    tried = {name: code for name, code in outcomes.items() if code is not None}
    missed = [name for name, code in tried.items() if code not in NOTICED]
    noticed = len(tried) - len(missed)
    percent = 100 * noticed / len(tried) if tried else 0.0
    codes = dict(Counter(tried.values()))
    lines = [
        f"{len(outcomes)} mutants, {len(tried)} tried, {noticed} noticed: {percent:.1f} %.",
        f"mutmut's exit codes: {codes}",
        *(f"Not noticed: {name}" for name in missed),
        f"See one with: cd {COPY.relative_to(ROOT)} && mutmut show NAME",
    ]
    sys.stdout.write("\n".join(["", *lines, ""]))
    return 0 if percent >= LEAST_PERCENT else 1


if __name__ == "__main__":
    sys.exit(main())
