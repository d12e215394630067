"""What browsers and agents do again and again: ask, have it approved, send it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.test import Client

from tests.agents import HOST, ORDER, ApiClient, SessionOf, approval_of, operation_in, reference
from tests.shop.models import Item

TWO = {"sku": "jacket", "quantity": 2}
MADE_UP_REF = "a2b3c4d5e6f7a2b3c4d5e6f7a2b3c4d5"
NEVER_RETURNED = "1791487200-k3Jd9Qx2mW8v"


def ask(browser: Client, path: str = "/buy/", data: Mapping[str, Any] = ORDER) -> str:
    """Ask for a gated action, which is refused; the reference of the refusal."""
    response = browser.post(path, data)
    assert response.status_code == 403, response.content
    return reference(response)[1]


def recorded(
    session: SessionOf,
    browser: Client,
    path: str = "/buy/",
    data: Mapping[str, Any] = ORDER,
    **members: Any,
) -> tuple[str, dict[str, Any]]:
    """Ask and approve; the reference and the approval."""
    ref = ask(browser, path, data)
    return ref, session.approve(ref, **members)


@dataclass
class GatedRequest:
    """A request for a gated action, of a browser or through the API, sent as often as one likes."""

    session: SessionOf
    path: str
    body: Mapping[str, Any] = field(default_factory=lambda: ORDER)
    browser: Client | None = None
    operation_id: str = field(default="", init=False)
    ref: str = field(default="", init=False)
    approval: dict[str, Any] | None = field(default=None, init=False)

    def ask(self) -> None:
        """Send it for the first time, and learn what to approve; an API's carries it from now."""
        if self.browser is None:
            operation = operation_in(self.send())
        else:
            self.ref = ask(self.browser, self.path, self.body)
            operation = self.session.look_up(self.ref)
        self.operation_id = operation["operation_id"]
        self.approval = approval_of(operation)

    def approve(self) -> None:
        """Approve at the endpoint what a browser asked for; elsewhere requests carry it."""
        if self.browser is not None:
            answer = self.session.endpoint(self.ref, self.approval)
            assert answer.status_code == 204, answer.content

    def send(self) -> Any:
        """Send it, with the approval if that is how it comes."""
        if self.browser is None:
            return ApiClient(self.session, self.path).send(self.approval, body=self.body)
        return self.browser.post(self.path, self.body)

    def status(self) -> str:
        """Ask the endpoint where it stands, as only the agents of browsers can."""
        return self.session.status(self.ref)


def answer(response: Any) -> tuple[int, dict[str, str], bytes]:
    """All of an answer but the time at which it was given."""
    headers = {name: value for name, value in response.headers.items() if name != "Date"}
    return response.status_code, headers, response.content


def error(response: Any) -> tuple[int, str]:
    """Status and code of a refusal."""
    return response.status_code, response.json()["error"]


def is_refused_with(response: Any, operation: Mapping[str, Any]) -> bool:
    """Whether the answer is exactly this operation, to be approved."""
    return response.status_code == 403 and response.json() == {
        "error": "approval_required",
        "operation": operation,
    }


def with_header(session: SessionOf, ref: str, header: str) -> Any:
    """Send a ``Poppy-Approval`` that may be anything."""
    return session.client.post(
        "/poppy/operations",
        data={"ref": ref},
        content_type="application/json",
        headers={**session.headers(), "Poppy-Approval": header},
    )


def price(amount: str) -> None:
    """Change what the jacket costs."""
    Item.objects.update(price=Decimal(amount))


def quiet() -> Client:
    """A browser that shows the site's faults as the answers they are."""
    return Client(headers={"host": HOST}, raise_request_exception=False)
