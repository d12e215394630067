"""Actions are known to every process of a site: scripts, schedulers and workers check nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from poppy_operations import discovery
from poppy_operations.discovery import action_called
from tests.source import ROOT

SETTINGS = """
from tests.settings import *
INSTALLED_APPS = [*INSTALLED_APPS, "store"]
ROOT_URLCONF = "store.urls"
"""
OPERATIONS = """
from poppy_operations import Action, NotPerformed

ship = Action("store.ship", effects="external")

@ship.reconcile
def shipped(operation):
    return NotPerformed()
"""
# An action beside its view, which nothing but the URLs import.
URLS = """
from poppy_operations import Action, NotPerformed

urlpatterns = []
bill = Action("store.bill", effects="external")

@bill.reconcile
def billed(operation):
    return NotPerformed()

print_it = Action("store.print", effects="external", perform=print)
"""
START = """
import sys
import django

django.setup()

from django.core.management import call_command
from poppy_operations.background import perform_attempt
from poppy_operations.lifecycle import finishing
from tests.lifecycle.rows import MINE, NOW, begun, returned

assert "store.urls" not in sys.modules
call_command("migrate", run_syncdb=True, verbosity=0)
"""
SCRIPT = f"""{START}
for action in ("store.ship", "store.bill", "store.gone"):
    revision = returned(action=action, slot=action)
    begun(revision, effects="external")
    finishing.mark_unknown(revision.operation, MINE, NOW)
call_command("poppy_reconcile")
"""
WORKER = f"""{START}
revision = returned(action="store.print")
begun(revision, effects="external", queued=True)
assert perform_attempt(revision.operation.operation_id, MINE)
"""


def told_by(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    for name, source in [("settings", SETTINGS), ("operations", OPERATIONS), ("urls", URLS)]:
        (folder / "store").mkdir(exist_ok=True)
        (folder / "store" / f"{name}.py").write_text(source)
    paths = os.pathsep.join([str(folder), str(ROOT)])
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "store.settings",
        "PYTHONPATH": paths,
    }
    command = [sys.executable, "-c", script]
    return subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    )


@pytest.mark.slow
def test_a_script_that_checks_nothing_finds_every_action_and_says_which_are_gone(
    tmp_path: Path,
) -> None:
    told = told_by(SCRIPT, tmp_path)
    assert told.stdout.startswith("Performed: 0. Not performed: 2. Still unknown: 1.")
    assert told.stderr.count("An attempt's action is not declared; still unknown.") == 1


@pytest.mark.slow
def test_a_worker_that_checks_nothing_performs_an_action_that_only_the_urls_import(
    tmp_path: Path,
) -> None:
    assert "ApprovedOperation(action='store.print'" in told_by(WORKER, tmp_path).stdout


@pytest.fixture
def _nothing_imported() -> None:
    discovery._import_urls.cache_clear()


@pytest.mark.usefixtures("_nothing_imported")
def test_urls_that_cannot_be_imported_are_logged_once(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.ROOT_URLCONF = "tests.no_such_urls"
    assert action_called("tests.gone") is None
    assert action_called("tests.gone") is None
    assert caplog.text.count("URLs cannot be imported") == 1


@pytest.mark.usefixtures("_nothing_imported")
def test_a_worker_without_urls_has_the_actions_that_it_imports(settings: Any) -> None:
    del settings.ROOT_URLCONF
    assert action_called("tests.gone") is None
    assert action_called("shop.buy") is not None
