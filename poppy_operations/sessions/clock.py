"""Moments as whole seconds, with USE_TZ on or off."""

from __future__ import annotations

from datetime import UTC, datetime

from django.conf import settings
from django.utils import timezone


def epoch(moment: datetime | None = None) -> int:
    """Give a moment, by default now, in whole seconds since 1970 (UTC).

    A naive moment is read in the site's time zone, as Django stores it without USE_TZ.
    """
    moment = moment or timezone.now()
    if timezone.is_naive(moment):
        moment = timezone.make_aware(moment)
    return int(moment.timestamp())


def stored(seconds: int) -> datetime:
    """Give seconds since 1970 as the kind of moment that this site's models take."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment if settings.USE_TZ else timezone.make_naive(moment)
