"""Times on the wire (3)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def rfc3339(epoch: int) -> str:
    """Return Unix seconds as RFC 3339 in UTC, such as ``2026-10-08T19:20:00Z``.

    Raises:
        ValueError: the time is not between the years 1 and 9999.
    """
    try:
        moment = _EPOCH + timedelta(seconds=epoch)
    except OverflowError:
        message = f"{epoch} is no time between the years 1 and 9999."
        raise ValueError(message) from None
    return moment.replace(tzinfo=None).isoformat() + "Z"
