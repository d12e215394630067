"""What ordinary visitors pay: on a gated view, and where only the middleware is passed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings

from benchmarks.calls import AsyncSite, Sent, Site
from benchmarks.figures import Measure
from benchmarks.rounds import Subject
from benchmarks.settings import WITHOUT_US

NOTHING = "benchmarks.site.middleware.NothingMiddleware"
MEASURES = (
    Measure("visitor", "gated_visit", "bare_visit"),
    Measure("middleware_wsgi", "passed_ours", "passed_nothing"),
    Measure("middleware_asgi", "apassed_ours", "apassed_nothing"),
)
TIMES = 20


def subjects() -> list[Subject]:
    """Give them all. The middleware of a new project is passed on both sides."""
    ours, nothing = settings.MIDDLEWARE, [*WITHOUT_US, NOTHING]
    loop = asyncio.new_event_loop()
    return [
        _visit("bare_visit", "/visit/bare/", ours),
        _visit("gated_visit", "/visit/gated/", ours),
        _passing("passed_ours", ours),
        _passing("passed_nothing", nothing),
        _apassing("apassed_ours", ours, loop),
        _apassing("apassed_nothing", nothing, loop),
    ]


def _visit(name: str, path: str, middleware: Sequence[str]) -> Subject:
    site, sent = Site(middleware), Sent("POST", path, {}, b"{}")
    return Subject(name, lambda: site.ready(sent), times=TIMES)


def _passing(name: str, middleware: Sequence[str]) -> Subject:
    site, sent = Site(middleware), Sent("GET", "/passed/", {})
    return Subject(name, lambda: site.ready(sent), times=TIMES)


def _apassing(name: str, middleware: Sequence[str], loop: asyncio.AbstractEventLoop) -> Subject:
    site, sent = AsyncSite(middleware), Sent("GET", "/apassed/", {})

    async def some() -> None:
        for _ in range(TIMES):
            await site.send(sent)

    def prepare() -> Callable[[], Any]:
        return lambda: loop.run_until_complete(some())

    return Subject(name, prepare, size=TIMES)
