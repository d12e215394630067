"""The packages that people would take instead, each with a new key and with one that it knows."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

from benchmarks.agents import ORDER, expect
from benchmarks.calls import Answer, Sent, Site
from benchmarks.figures import Measure
from benchmarks.rounds import Subject
from benchmarks.settings import PACKAGES, WITHOUT_US
from benchmarks.site.packages import MIDDLEWARE


def measures() -> list[Measure]:
    """Give what is compared: each with the bare view, and our performance with each."""
    return [
        measure
        for name in PACKAGES
        for measure in (
            Measure(name, name, "bare"),
            Measure(f"{name}_repeat", f"{name}_repeat", "bare"),
            Measure(f"api_perform_{name}", "api_perform", name),
        )
    ]


def subjects() -> list[Subject]:
    """Give them all."""
    return [subject for name in PACKAGES for subject in _subjects(name)]


def _subjects(name: str) -> list[Subject]:
    around = [MIDDLEWARE[name]] if name in MIDDLEWARE else []
    site = Site([*WITHOUT_US, *around])
    known = str(uuid.uuid4())
    expect(site.send(_order(name, known)), 201)

    def finish(answer: Any) -> None:
        expect(answer, 201)

    def first() -> Callable[[], Answer]:
        return site.ready(_order(name, str(uuid.uuid4())))

    def repeat() -> Callable[[], Answer]:
        return site.ready(_order(name, known))

    return [Subject(name, first, finish), Subject(f"{name}_repeat", repeat, finish)]


def _order(name: str, key: str) -> Sent:
    body = json.dumps(ORDER).encode()
    return Sent("POST", f"/packages/{name}/", {"Idempotency-Key": key}, body)
