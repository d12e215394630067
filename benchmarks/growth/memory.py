"""A worker's memory over many requests: ``python -m benchmarks.growth.memory``."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import prepare

REQUESTS = 50_000
EARLY = 5_000
LONGEST_S = 600
PAGE_KIB = 4


def main() -> None:
    """Send the requests, and write the figure to a file."""
    account = prepare()
    Path(sys.argv[1]).write_text(json.dumps({"memory_worker": _figure(account)}))


def _figure(account: str) -> dict[str, Any]:
    from benchmarks.settings import VENDOR

    worker = Worker(account)
    began = time.monotonic()
    while worker.requests < EARLY:
        worker.work()
    early, done = resident_kib(), worker.requests
    while worker.requests < REQUESTS and time.monotonic() < began + LONGEST_S:
        worker.work()
    late = resident_kib()
    return {
        "database": VENDOR,
        "ratio": round(late / early, 4),
        "against": f"after {done} requests",
        "median_us": round((time.monotonic() - began) / worker.requests * 1e6, 1),
        "spread": 0.0,
        "requests": worker.requests,
        "early_mib": round(early / 1024, 1),
        "late_mib": round(late / 1024, 1),
    }


class Worker:
    """Answers whatever agents and visitors send in turn."""

    def __init__(self, account: str) -> None:
        from django.conf import settings

        from benchmarks.calls import Site
        from benchmarks.subjects.website import Story

        self._account = account
        self._site = Site(settings.MIDDLEWARE)
        self._story = Story(self._site, account)
        self.requests = 0

    def work(self) -> None:
        """Answer ten requests or so: an agent's at the API and in a browser, and visitors'."""
        from benchmarks.agents import AgentSession, asked, expect
        from benchmarks.calls import Sent

        session = AgentSession(self._account)
        approval = asked(self._site, session, "/order/")
        for _ in range(2):
            expect(self._site.send(session.order("/order/", approval)), 201)
        self._story.ask()
        self._story.approve()
        self._story.perform()
        for _ in range(2):
            expect(self._site.send(Sent("POST", "/visit/gated/", {})), 200)
        expect(self._site.send(Sent("GET", "/passed/", {})), 200)
        self.requests += 10


def resident_kib() -> int:
    """Give the memory that this process has, as Linux says it."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_KIB


if __name__ == "__main__":
    main()
