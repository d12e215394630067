"""What the browser tests take from npm: tools and libraries that the package does not ship."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from tests.needed import missing
from tests.source import ROOT

PACKAGES = ("axe-core@4.14.1", "htmx.org@2.0.11", "@hotwired/turbo@8.0.23")


def npm_file(path: str) -> Path:
    """Return a file of the packages, which the first call installs below ``build/``."""
    key = hashlib.sha256(" ".join(PACKAGES).encode()).hexdigest()[:12]
    folder = ROOT / "build" / f"npm-{key}"
    if not folder.exists():
        _install(folder)
    return folder / "node_modules" / path


def _install(folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        missing("npm is not installed.")
    draft = folder.with_suffix(".new")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    quietly = ("--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--silent")
    subprocess.run([str(npm), "install", *quietly, *PACKAGES], cwd=draft, check=True)
    draft.rename(folder)
