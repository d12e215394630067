"""The tests that ran are counted, and those that did not are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from tests.ran import Ran, never_ran


def report(
    name: str, outcome: Literal["passed", "failed", "skipped"] = "passed", **more: Any
) -> pytest.TestReport:
    when = more.pop("when", "call")
    return pytest.TestReport(name, ("", None, ""), {}, outcome, None, when, **more)


def told(path: Path, *reports: pytest.TestReport) -> str:
    """What a run adds to the file."""
    run = Ran(path)
    for one in reports:
        run.pytest_runtest_logreport(one)
    run.pytest_sessionfinish()
    return path.read_text("utf-8")


def test_what_was_called_ran(tmp_path: Path) -> None:
    said = told(
        tmp_path / "ran",
        report("passed"),
        report("failed", "failed"),
        report("expected to fail", "skipped", wasxfail="a reason"),
    )
    assert said.splitlines() == ["'passed'", "'failed'", "'expected to fail'"]


def test_what_was_skipped_did_not_run(tmp_path: Path) -> None:
    said = told(
        tmp_path / "ran",
        report("before", "skipped", when="setup"),
        report("inside", "skipped"),
        report("inside", when="teardown"),
    )
    assert said == ""


def test_runs_add_to_each_other(tmp_path: Path) -> None:
    told(tmp_path / "ran", report("one"))
    assert told(tmp_path / "ran", report("two")).splitlines() == ["'one'", "'two'"]


def test_what_never_ran_is_named(tmp_path: Path) -> None:
    ran = told(tmp_path / "ran", report("one"), report("a\nb"))
    assert never_ran(["one", "two", "a\nb", "a"], ran) == ["two", "a"]
