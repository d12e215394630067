from __future__ import annotations

from datetime import UTC, datetime

import pytest

from poppy_operations.protocol.times import rfc3339


@pytest.mark.requirement("OPS-3-17")
@pytest.mark.parametrize(
    ("epoch", "text"),
    [
        (1791487200, "2026-10-08T19:20:00Z"),
        (0, "1970-01-01T00:00:00Z"),
        (-1, "1969-12-31T23:59:59Z"),
        (253402300799, "9999-12-31T23:59:59Z"),
        (-62135596800, "0001-01-01T00:00:00Z"),
    ],
)
def test_unix_seconds_become_rfc_3339_in_utc(epoch: int, text: str) -> None:
    assert rfc3339(epoch) == text
    assert datetime.fromisoformat(text) == datetime.fromtimestamp(epoch, UTC)


@pytest.mark.parametrize("epoch", [253402300800, -62135596801, 10**15, 10**30])
def test_times_outside_the_calendar_are_refused(epoch: int) -> None:
    with pytest.raises(ValueError, match="is no time between"):
        rfc3339(epoch)
