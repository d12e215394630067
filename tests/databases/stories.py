"""What is told of every site: what happens, and what is answered meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Event
from typing import Any

import time_machine
from django.db import connection, connections
from django.utils import timezone

from tests.connections import LONG, together
from tests.databases.doors import Door, effects_left

TWELVE = 12


def is_documented(door: Door, answer: Any) -> bool:
    """Whether an answer is one of those that agents are told to expect."""
    if answer.status_code == 503:
        return int(answer["Retry-After"]) > 0
    return answer.status_code in {door.performed, *door.meanwhile}


def happens_once(door: Door) -> None:
    """Ask, approve, perform, repeat."""
    door.ask_and_approve()
    assert (door.state, effects_left()) == ("open", 0)
    first = door.send()
    assert first.status_code == door.performed
    assert (door.state, effects_left()) == ("performed", 1)
    again = door.send()
    assert is_documented(door, again)
    assert effects_left() == 1
    if door.gives_again:
        assert (again.status_code, again.content) == (first.status_code, first.content)


def twelve_at_once(door: Door) -> None:
    """Send the approved request twelve times at once; whoever has to come back does."""
    door.ask_and_approve()
    answers = together([door.another() for _ in range(TWELVE)])
    assert all(is_documented(door, answer) for answer in answers), answers
    performed = [answer for answer in answers if answer.status_code == door.performed]
    if not performed:
        # Of snapshots, the action loses against whoever asked meanwhile, and is rolled back.
        assert (door.state, effects_left()) == ("open", 0)
        performed = [door.send()]
        assert performed[0].status_code == door.performed
    assert (door.state, effects_left()) == ("performed", 1)
    assert len({answer.content for answer in performed}) == 1
    assert door.gives_again or len(performed) == 1


@dataclass
class Slow:
    """An action that waits inside, the first time it runs, until it is told to go on."""

    calls: list[str] = field(default_factory=list)
    inside: Event = field(default_factory=Event)
    go_on: Event = field(default_factory=Event)

    def __call__(self, operation: Any) -> None:
        self.calls.append(operation.operation_id)
        if len(self.calls) == 1:
            self.inside.set()
            assert self.go_on.wait(LONG)


def meet(door: Door, slow: Slow, after: timedelta) -> tuple[Any, Any]:
    """Send the request, and once more that much later, while the first one is inside."""
    start = timezone.now()
    with time_machine.travel(start, tick=False) as clock, ThreadPoolExecutor(1) as pool:
        first, second = door.another(), door.another()
        running = pool.submit(_and_leave, first)
        try:
            assert slow.inside.wait(LONG)
            clock.move_to(start + after)
            meanwhile = _with_little_patience(second)
        finally:
            slow.go_on.set()
        return running.result(LONG), meanwhile


def _and_leave(send: Callable[[], Any]) -> Any:
    try:
        return send()
    finally:
        connections.close_all()


def _with_little_patience(send: Callable[[], Any]) -> Any:
    """Wait for SQLite's lock no longer than a test should."""
    if connection.vendor != "sqlite":
        return send()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 100")
        answer = send()
        cursor.execute("PRAGMA busy_timeout = 20000")
    return answer


def late_finish(door: Door, slow: Slow) -> None:
    """Let an action outlive its lease, and another request come by."""
    door.ask_and_approve()
    late, meanwhile = meet(door, slow, timedelta(seconds=62))
    # The action holds SQLite's one lock: nobody can take it over, and it commits.
    is_taken_over = connection.vendor != "sqlite"
    assert meanwhile.status_code == (door.performed if is_taken_over else 503)
    assert len(slow.calls) == (2 if is_taken_over else 1)
    assert (late.status_code, door.state, effects_left()) == (door.performed, "performed", 1)
    if is_taken_over:
        assert (late.content, late.get("Location")) == (
            meanwhile.content,
            meanwhile.get("Location"),
        )


def late_finish_outside(door: Door, slow: Slow) -> None:
    """Let an action that reaches outside take nearly as long as its operation lives."""
    door.ask_and_approve()
    late, meanwhile = meet(door, slow, timedelta(minutes=14))
    assert meanwhile.status_code in door.meanwhile
    assert len(slow.calls) == 1
    assert (late.status_code, door.state, effects_left()) == (door.performed, "performed", 1)
