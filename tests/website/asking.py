"""What browsers and agents do again and again in the tests of the website."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.test import Client

from tests.agents import HOST, SessionOf, reference
from tests.shop.models import Item

ORDER = {"sku": "jacket", "quantity": "1"}
TWO = {"sku": "jacket", "quantity": "2"}
MADE_UP = "a2b3c4d5e6f7a2b3c4d5e6f7a2b3c4d5"
NEVER_RETURNED = "1791487200-k3Jd9Qx2mW8v"


def ask(browser: Client, path: str = "/buy/", data: Mapping[str, str] = ORDER) -> str:
    """Ask for a gated action, which is refused; the reference of the refusal."""
    response = browser.post(path, data)
    assert response.status_code == 403, response.content
    return reference(response)[1]


def recorded(
    session: SessionOf,
    browser: Client,
    path: str = "/buy/",
    data: Mapping[str, str] = ORDER,
    **members: Any,
) -> tuple[str, dict[str, Any]]:
    """Ask and approve; the reference and the approval."""
    ref = ask(browser, path, data)
    return ref, session.approve(ref, **members)


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
