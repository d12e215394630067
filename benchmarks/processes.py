"""Processes of a run: each has Django's settings for one database, and is ended by who began it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.results import PROJECT


def environment(vendor: str, name: str, folder: Path) -> dict[str, str]:
    """Give the environment of a process that works on a database."""
    return {
        **os.environ,
        "BENCHMARK_VENDOR": vendor,
        "BENCHMARK_NAME": name,
        "BENCHMARK_FOLDER": str(folder),
        "DJANGO_SETTINGS_MODULE": "benchmarks.settings",
        "PYTHONPATH": str(PROJECT),
    }


def run(module: str, *arguments: str, environment: dict[str, str]) -> None:
    """Run a module of ours to its end.

    Raises:
        CalledProcessError: it failed; what it said about that has been printed.

    """
    command = [sys.executable, "-m", module, *arguments]
    subprocess.run(command, cwd=PROJECT, env=environment, check=True)
