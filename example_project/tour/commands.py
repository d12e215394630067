"""Run the shop's own commands, as its staff would."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from example_project.tour.narration import Surprise

PROJECT = Path(__file__).resolve().parent.parent.parent
COMMAND_S = 120
LAST_LINES = 20


def run_command(*arguments: str, environment: Mapping[str, str]) -> str:
    """Run a command of ``manage.py`` and return what it prints.

    Raises:
        Surprise: the command failed.

    """
    done = subprocess.run(  # noqa: S603  our own interpreter, script and arguments
        [sys.executable, str(PROJECT / "manage.py"), *arguments],
        cwd=PROJECT,
        env={**environment, "DJANGO_SETTINGS_MODULE": "example_project.settings"},
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
    )
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-LAST_LINES:]
        message = f"manage.py {' '.join(arguments)} failed:\n" + "\n".join(last)
        raise Surprise(message)
    return done.stdout
