"""Chromium, as the browser tests start it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.needed import missing

ARGUMENTS = ["--no-sandbox", "--disable-gpu"]


@contextmanager
def chromium_running() -> Iterator[Any]:
    """Start Debian's Chromium, or the one that ``CHROMIUM`` names."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("Playwright is not installed: pip install --group browser")
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if path is None:
        missing("Chromium is not installed.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()
