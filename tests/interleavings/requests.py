"""An approved request, over and over: by a browser, and through the API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.test import Client

from tests.agents import SessionOf, approval_of, reference
from tests.api.agents import ApiClient
from tests.shop.models import Effect

PATHS = ["/buy/", "/abuy/", "/form/", "/refund/", "/api/class/", "/api/aplain/", "/api/transfer/"]
OUTSIDE = {"/refund/", "/api/transfer/"}


@dataclass
class Approved:
    """One approved order; those of other quantities are other operations."""

    session: SessionOf
    browser: Client
    path: str
    quantity: int = 1
    approval: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.is_api:
            self.approval = approval_of(self._api.ask(body=self._order))
        else:
            _, ref = reference(self.send())
            self.session.approve(ref)

    @property
    def is_api(self) -> bool:
        """Whether an agent calls it, and no browser."""
        return self.path.startswith("/api/")

    @property
    def _api(self) -> ApiClient:
        return ApiClient(self.session, self.path)

    @property
    def _order(self) -> dict[str, Any]:
        return {"sku": "jacket", "quantity": self.quantity}

    def send(self) -> Any:
        """Send the request."""
        if self.is_api:
            return self._api.send(self.approval, body=self._order)
        return self.browser.post(self.path, self._order)

    @property
    def performed(self) -> int:
        """The status that says that it was performed."""
        return 201 if self.is_api else 302

    @property
    def times(self) -> int:
        """How often it really happened."""
        return Effect.objects.filter(key=f"{self.quantity} jacket").count()
