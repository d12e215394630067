"""Purge, as fast as it goes, and what its statements hold; and traffic, to be met by it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

LONGEST_S = 150.0
WRITES = ("DELETE", "INSERT", "UPDATE")


class Enough(Exception):
    """The time for purging is over."""


def purged(longest_s: str = str(LONGEST_S), ahead_days: str = "0") -> dict[str, float]:
    """Purge for so many seconds at most, by a clock that is so many days ahead."""
    from django.db import connection
    from django.utils import timezone

    from poppy_operations.maintenance import purge
    from poppy_operations.models import Operation

    watch = Statements(time.monotonic() + float(longest_s))
    # Those that others ask for meanwhile do not count.
    newest = Operation.objects.latest("pk").pk
    before = Operation.objects.count()
    began = time.monotonic()
    with connection.execute_wrapper(watch), suppress(Enough):
        purge(now=timezone.now() + timedelta(days=float(ahead_days)))
    took = time.monotonic() - began
    return {
        "operations": before - Operation.objects.filter(pk__lte=newest).count(),
        "seconds": round(took, 3),
        "longest_read_ms": round(watch.longest_read * 1000, 1),
        "longest_write_ms": round(watch.longest_write * 1000, 1),
    }


class Statements:
    """Times each statement, and ends it all when the time is over."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self.longest_read = 0.0
        self.longest_write = 0.0

    def __call__(self, execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        """Run one statement."""
        if time.monotonic() > self._deadline:
            raise Enough
        began = time.monotonic()
        result = execute(sql, *arguments)
        took = time.monotonic() - began
        if sql.startswith(WRITES):
            self.longest_write = max(self.longest_write, took)
        else:
            self.longest_read = max(self.longest_read, took)
        return result


def served(account: str, seconds: float) -> dict[str, Any]:
    """Serve an agent that asks and performs all the time, and give the times of its requests."""
    from django.conf import settings

    from benchmarks.agents import AgentSession, asked, expect
    from benchmarks.calls import Site

    site = Site(settings.MIDDLEWARE)
    times: list[float] = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        session = AgentSession(account)
        ready = site.ready(session.order("/order/", asked(site, session, "/order/")))
        began = time.perf_counter()
        answer = ready()
        times.append((time.perf_counter() - began) * 1e6)
        expect(answer, 201)
    return {"times": times}
