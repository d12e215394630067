"""An approved request, over and over: by a browser, and through the API."""

from __future__ import annotations

from django.test import Client

from tests.agents import SessionOf
from tests.asking import GatedRequest
from tests.shop.models import Effect

PATHS = ["/buy/", "/abuy/", "/form/", "/refund/", "/api/class/", "/api/aplain/", "/api/transfer/"]
OUTSIDE = {"/refund/", "/api/transfer/"}


class Approved(GatedRequest):
    """One approved order; those of other quantities are other operations."""

    def __init__(self, session: SessionOf, browser: Client, path: str, quantity: int = 1) -> None:
        self.is_api = path.startswith("/api/")
        body = {"sku": "jacket", "quantity": quantity}
        super().__init__(session, path, body, None if self.is_api else browser)
        self.quantity = quantity
        self.ask()
        self.approve()

    @property
    def performed(self) -> int:
        """The status that says that it was performed."""
        return 201 if self.is_api else 302

    @property
    def times(self) -> int:
        """How often it really happened."""
        return Effect.objects.filter(key=f"{self.quantity} jacket").count()
