"""A clock that stands still until it is moved."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, traveller: Any, start: datetime) -> None:
        self._traveller = traveller
        self.start = start

    def at(self, **since_start: float) -> None:
        """Set the time, counted from the start of the test."""
        self._traveller.move_to(self.start + timedelta(**since_start))
