"""Each site's tests, in a process of their own: apps and middleware are chosen once for each."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests import needed
from tests.packages.conftest import ON_EVERY_SITE
from tests.packages.sites import FOLDER, SITES, missing, settings_of
from tests.source import ROOT

TIME_LIMIT = 270  # less than pytest's own, whose word would not show what the site said


def environment(site: str) -> dict[str, str]:
    """What the process is started with: nothing that this run's own pytest has set."""
    ours = {name for name in os.environ if name.startswith("PYTEST_")}
    others = {name: value for name, value in os.environ.items() if name not in ours}
    return {**others, "COVERAGE_FILE": f"{os.environ.get('COVERAGE_FILE', '.coverage')}.{site}"}


def measuring(config: pytest.Config) -> list[str]:
    """How the process measures coverage, if this one does."""
    measured = config.pluginmanager.has_plugin("_cov")
    return ["--cov", "--cov-report=", "--cov-fail-under=0"] if measured else []


@pytest.mark.parametrize("site", SITES)
def test_the_tests_of_a_site_pass(site: str, pytestconfig: pytest.Config) -> None:
    if lacking := missing(site):
        needed.missing(f"{', '.join(lacking)} cannot be imported: `make packages` installs it.")
    tests = [str(FOLDER / name) for name in (site, *ON_EVERY_SITE)]
    options = ["--ds", settings_of(site), "-p", "no:cacheprovider", "-p", "no:xdist"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *measuring(pytestconfig), *tests],
        cwd=ROOT,
        env=environment(site),
        capture_output=True,
        check=False,
        text=True,
        timeout=TIME_LIMIT,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "skipped" not in run.stdout.splitlines()[-1], run.stdout
