"""The demo shop's settings, but for what a test would wait for."""

from __future__ import annotations

from datetime import timedelta

from example_project.settings import *  # noqa: F403  the same shop in all else

DEMO_LEASE = timedelta(seconds=4)
