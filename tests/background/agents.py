"""An agent that has a background action approved, and asks what became of it."""

from __future__ import annotations

from collections.abc import Callable

from tests.agents import SessionOf
from tests.asking import GatedRequest
from tests.crash.site import times

PATHS = {
    "website": {
        "database": "/website/background/database/",
        "external": "/website/background/external/",
    },
    "api": {"database": "/background/database/", "external": "/background/external/"},
}


class Job(GatedRequest):
    """One operation that was approved, and that a worker is to perform."""

    def __init__(self, session: SessionOf, door: str, effects: str, thing: str = "it") -> None:
        browser = session.browser() if door == "website" else None
        super().__init__(session, PATHS[door][effects], {"thing": thing}, browser)
        self.door, self.effects = door, effects
        self.ask()
        self.approve()

    def is_done(self) -> bool:
        """Whether the agent can see that it was performed, by a retry or by its status."""
        if self.browser is not None:
            return self.status() == "performed"
        return bool(self.send().status_code == 200)

    @property
    def times(self) -> int:
        """How often it really happened."""
        return times(self.effects, self.operation_id)


MakeJob = Callable[..., Job]
