"""Ways to have an approved order performed: by a browser, and through the API."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from django.db import router
from django.test import Client

from poppy_operations.models import Operation
from tests.agents import HOST, ORDER, ApiClient, SessionOf, approval_of, reference
from tests.shop.models import Effect


@dataclass
class Door:
    """One approved order at one address of the site."""

    session: SessionOf
    session_of: Callable[..., SessionOf]
    path: str
    operation_id: str = field(default="", init=False)

    # What an answer that says so has as its status, and what others may have meanwhile.
    performed: ClassVar[int]
    meanwhile: ClassVar[frozenset[int]]
    # Whether a repeat gets the very same answer, as no page does.
    gives_again: ClassVar[bool] = False

    def ask_and_approve(self) -> None:
        """Get the operation, and have it approved."""
        raise NotImplementedError

    def another(self) -> Callable[[], Any]:
        """Give a way to send the request, with a client of its own."""
        raise NotImplementedError

    def send(self) -> Any:
        """Send the request."""
        return self.another()()

    def send_without_approval(self) -> Any:
        """Send the request as it is sent at first."""
        return self.send()

    @property
    def state(self) -> str:
        """Where the operation stands; read where it is written."""
        ours = Operation.objects.using(router.db_for_write(Operation))
        return str(ours.get(operation_id=self.operation_id).state)


class Website(Door):
    """A page of the site, in a browser of the Session."""

    performed = 302
    meanwhile = frozenset({403, 503})
    browser: Client
    ref: str

    def ask_and_approve(self) -> None:
        """Ask on the page, and approve at the endpoint."""
        self.browser = self.session.browser()
        _, self.ref = reference(self.browser.post(self.path, ORDER))
        self.operation_id = self.session.approve(self.ref)["operation_id"]

    def another(self) -> Callable[[], Any]:
        """Give another tab of the browser."""
        tab = Client(headers={"host": HOST})
        tab.cookies.load({name: morsel.value for name, morsel in self.browser.cookies.items()})
        return lambda: tab.post(self.path, ORDER)


class Api(Door):
    """An address of the API."""

    performed = 201
    meanwhile = frozenset({503})
    gives_again = True
    approval: dict[str, Any]

    def ask_and_approve(self) -> None:
        """Ask, and keep the approval for the repeat."""
        operation = ApiClient(self.session, self.path).ask(body=ORDER)
        self.operation_id = operation["operation_id"]
        self.approval = approval_of(operation)

    def another(self) -> Callable[[], Any]:
        """Give another client of the agent."""
        own = ApiClient(self.session_of(account=self.session.account), self.path)
        return lambda: own.send(self.approval)

    def send_without_approval(self) -> Any:
        """Send the request as it is sent at first."""
        return ApiClient(self.session, self.path).send()


DOORS: dict[str, tuple[type[Door], str]] = {
    "website": (Website, "/buy/"),
    "website-async": (Website, "/abuy/"),
    "website-outside": (Website, "/refund/"),
    "api": (Api, "/api/class/"),
    "api-outside": (Api, "/api/transfer/"),
}


def effects_left() -> int:
    """How many effects stayed."""
    return Effect.objects.count()
