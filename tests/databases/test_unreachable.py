"""A database that cannot be reached, in the middle of a request: nothing is performed, and 503."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connections

from example_project.tour.server import free_port
from poppy_operations.doors import http_asker
from poppy_operations.gate import decision
from poppy_operations.lifecycle import claims
from poppy_operations.sessions import verification
from tests.databases.doors import Door, effects_left
from tests.databases.routers import ELSEWHERE
from tests.databases.sites import WITH_ORDERS

pytestmark = [
    pytest.mark.servers,
    pytest.mark.parametrize(
        "running", [WITH_ORDERS["both"]], ids=["both"], indirect=True, scope="module"
    ),
]
DOORS = ("website", "website-async", "website-outside", "api", "api-outside")


@contextmanager
def out_of_reach() -> Iterator[None]:
    """Let the operations' database refuse connections."""
    connection = connections[ELSEWHERE]
    port = connection.settings_dict["PORT"]
    connection.settings_dict["PORT"] = str(free_port())
    connection.close()
    try:
        yield
    finally:
        connection.settings_dict["PORT"] = port


# In the order in which a request passes them.
MOMENTS: dict[str, tuple[Any, str]] = {
    "agent": (verification, "find_agent"),
    "browser": (http_asker, "browser_of"),
    "checks": (decision, "performed_or_performing"),
    "claim": (claims, "begin"),
}
REACHED = {
    **{name: ("browser", "checks", "claim") for name in DOORS if "website" in name},
    **{name: ("agent", "checks", "claim") for name in DOORS if "api" in name},
}


@pytest.mark.parametrize(
    ("door", "moment"),
    [(name, moment) for name in DOORS for moment in REACHED[name]],
    indirect=["door"],
)
def test_from_any_moment_up_to_the_claim_nothing_is_performed(
    door: Door, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    door.ask_and_approve()
    send = door.another()
    with monkeypatch.context() as patched, out_of_reach_from(*MOMENTS[moment], patched):
        answer = send()
    assert (answer.status_code, answer["Retry-After"]) == (503, "1")
    assert (door.state, effects_left()) == ("open", 0)
    assert send().status_code == door.performed


@contextmanager
def out_of_reach_from(where: Any, name: str, patched: pytest.MonkeyPatch) -> Iterator[None]:
    original: Callable[..., Any] = getattr(where, name)
    gone = out_of_reach()
    began: list[int] = []

    def begins(*args: Any, **options: Any) -> Any:
        if not began:
            began.append(1)
            gone.__enter__()
        return original(*args, **options)

    patched.setattr(where, name, begins)
    try:
        yield
    finally:
        assert began
        gone.__exit__(None, None, None)
