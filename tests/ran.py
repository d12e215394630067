"""Which tests really ran: counted over all the stages of ``.ci/run``, so that none is left out.

With ``POPPY_RAN`` naming a file, a run adds the id of each test that was called and not skipped.
``python -m tests.ran`` collects all tests, and fails when some of them are not in that file.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

VARIABLE = "POPPY_RAN"


class Ran:
    """Adds what ran to a file; several runs may add to it one after the other."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ids: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember a test that was called. One that is expected to fail was, too."""
        was_called = not report.skipped or hasattr(report, "wasxfail")
        if report.when == "call" and was_called:
            self.ids.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Add what was remembered."""
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(f"{name!r}\n" for name in self.ids)


class Collected:
    """Holds what there is."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Look at everything that was collected."""
        self.ids = [item.nodeid for item in session.items]


def pytest_configure(config: pytest.Config) -> None:
    """Count in the process that is told of every test: a worker of xdist tells another one."""
    path = os.environ.get(VARIABLE)
    if path and not hasattr(config, "workerinput") and not config.option.collectonly:
        config.pluginmanager.register(Ran(Path(path)))


def never_ran(there_are: list[str], ran: str) -> list[str]:
    """Name the tests that are there and did not run."""
    counted = set(ran.splitlines())
    return [name for name in there_are if repr(name) not in counted]


def main() -> int:
    """Compare what there is with what ran; give the exit status."""
    collected = Collected()
    status = pytest.main(["--collect-only", "--quiet", "--no-summary", "--quiet"], [collected])
    if status != pytest.ExitCode.OK:
        sys.stderr.write("The tests cannot be collected.\n")
        return 1
    left = never_ran(collected.ids, Path(os.environ[VARIABLE]).read_text("utf-8"))
    for name in left:
        sys.stderr.write(f"never ran: {name}\n")
    sys.stderr.write(f"{len(collected.ids) - len(left)} of {len(collected.ids)} tests ran.\n")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
