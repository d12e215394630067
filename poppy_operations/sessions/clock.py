"""Instants as whole seconds, with USE_TZ on or off."""

from __future__ import annotations

from datetime import UTC, datetime

from poppy_operations.models.instants import instant


def epoch(moment: datetime | None = None) -> int:
    """Give a moment, by default now, in whole seconds since 1970 (UTC).

    A naive moment is read in the site's time zone.
    """
    return int(instant(moment).timestamp())


def stored(seconds: int) -> datetime:
    """Give seconds since 1970 as this package's models take them."""
    return datetime.fromtimestamp(seconds, UTC)
