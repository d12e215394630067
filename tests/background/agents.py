"""An agent that has a background action approved, and asks what became of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.test import Client

from tests.agents import SessionOf, approval_of, reference
from tests.background.site import PATHS
from tests.crash.site import stores
from tests.shop.models import Effect


@dataclass
class Job:
    """One operation that was approved, and that a worker is to perform."""

    session: SessionOf
    door: str
    effects: str
    thing: str = "it"
    browser: Client = field(init=False)
    operation_id: str = field(init=False)
    _ref: str = field(default="", init=False)
    _approval: dict[str, Any] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.door == "website":
            self.browser = self.session.browser()
            _, self._ref = reference(self.send())
            self.operation_id = self.session.approve(self._ref)["operation_id"]
        else:
            operation = self.send().json()["operation"]
            self.operation_id = operation["operation_id"]
            self._approval = approval_of(operation)

    def send(self) -> Any:
        """Send the request, with the approval where there is one."""
        path = PATHS[self.door][self.effects]
        if self.door == "website":
            return self.browser.post(path, {"thing": self.thing})
        return self.session.client.post(
            path,
            data=json.dumps({"thing": self.thing}),
            content_type="application/json",
            headers=self.session.headers(self._approval),
        )

    def status(self) -> str:
        """Ask the endpoint where it stands, as only the website's agents can."""
        return self.session.status(self._ref)

    def is_done(self) -> bool:
        """Whether the agent can see that it was performed, by a retry or by its status."""
        if self.door == "website":
            return self.status() == "performed"
        return bool(self.send().status_code == 200)

    @property
    def times(self) -> int:
        """How often it really happened."""
        if self.effects == "external":
            return stores.outside.times(self.operation_id)
        return Effect.objects.filter(key=self.operation_id).count()


MakeJob = Callable[..., Job]
