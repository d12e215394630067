"""The same views behind gunicorn, asked by 1, 8 and 32 clients: ``python -m benchmarks.load``.

On 127.0.0.1 alone, with a number of requests that is fixed beforehand. Clients and server share
the machine, so that the figures say how the site behaves under load, and not what a server of its
own could take.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.figures import percentile, spread
from benchmarks.measure import prepare

CLIENTS = (1, 8, 32)
REQUESTS = {1: 60, 8: 200, 32: 320}
# How often each kind has its turn, so that it meets the machine in more than one mood.
TURNS = 3
# As long as an access token and a Session JWT of the preparation are good for.
LONGEST_S = 45


def main() -> None:
    """Measure, and write the figures to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", type=Path)
    result = parser.parse_args().result
    account = prepare()
    from benchmarks.server import gunicorn

    with gunicorn() as port:
        result.write_text(json.dumps(_figures(account, port)))


def _figures(account: str, port: int) -> dict[str, Any]:
    kinds = _kinds(account)
    found: dict[str, Any] = {}
    for clients in CLIENTS:
        loads = {name: Load(clients) for name in kinds}
        for _ in range(TURNS):
            for name, kind in kinds.items():
                loads[name].play(port, kind, [kind.make() for _ in range(REQUESTS[clients])])
        bare = loads["bare"].times
        for name, load in loads.items():
            found[f"gunicorn_{name}_{clients}"] = load.figure(f"gunicorn_bare_{clients}", bare)
    return found


@dataclass(frozen=True)
class Kind:
    """A kind of request: how one is made, and the status that it is answered with."""

    status: int
    make: Callable[[], bytes]


@dataclass
class Load:
    """What so many clients met who sent requests of one kind at the same time."""

    clients: int
    times: list[float] = field(default_factory=list)
    seconds: float = 0
    errors: int = 0

    def play(self, port: int, kind: Kind, requests: list[bytes]) -> None:
        """Have the clients send the requests, each its next one when the last was answered."""
        threads = [
            threading.Thread(target=self._work, args=(port, kind, requests))
            for _ in range(self.clients)
        ]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.seconds += time.perf_counter() - began

    def _work(self, port: int, kind: Kind, waiting: list[bytes]) -> None:
        from benchmarks.server import Client

        client = Client(port)
        deadline = time.monotonic() + LONGEST_S
        while waiting and time.monotonic() < deadline:
            with suppress(IndexError):  # Another client took the last one.
                request = waiting.pop()
                began = time.perf_counter()
                status = client.send(request)
                self.times.append((time.perf_counter() - began) * 1e6)
                self.errors += status != kind.status
        client.close()

    def figure(self, against: str, bare: Sequence[float]) -> dict[str, Any]:
        """Give the figure, with the percentiles."""
        from benchmarks.settings import VENDOR

        return {
            "database": VENDOR,
            "ratio": round(median(self.times) / median(bare), 3),
            "against": against,
            "median_us": round(median(self.times), 1),
            "spread": round(spread(self.times), 3),
            "clients": self.clients,
            "requests_a_second": round(len(self.times) / self.seconds, 1),
            "p95_us": round(percentile(self.times, 0.95)),
            "p99_us": round(percentile(self.times, 0.99)),
            "errors": self.errors,
        }


def _kinds(account: str) -> dict[str, Kind]:
    """Give the requests that are made."""
    from django.conf import settings

    from benchmarks.agents import ORDER, AgentSession, asked, expect
    from benchmarks.calls import Sent, Site
    from benchmarks.server import as_bytes

    site = Site(settings.MIDDLEWARE)
    body = json.dumps(ORDER).encode()
    performed = AgentSession(account)
    approval = asked(site, performed, "/order/")
    expect(site.send(performed.order("/order/", approval)), 201)

    def perform() -> bytes:
        session = AgentSession(account)
        return as_bytes(session.order("/order/", asked(site, session, "/order/")))

    return {
        "bare": Kind(201, lambda: as_bytes(Sent("POST", "/bare/", {}, body))),
        "ask": Kind(403, lambda: as_bytes(AgentSession(account).order("/order/"))),
        "api_perform": Kind(201, perform),
        "replay": Kind(201, lambda: as_bytes(performed.order("/order/", approval))),
    }


if __name__ == "__main__":
    main()
