"""A site on which every view needs a login still serves agents."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agents import SessionOf, reference
from tests.shop.models import Item

pytestmark = pytest.mark.django_db


def test_join_and_endpoint_work_under_login_required_middleware(
    settings: Any, signed_in: SessionOf, jacket: Item
) -> None:
    settings.MIDDLEWARE = [
        *settings.MIDDLEWARE,
        "django.contrib.auth.middleware.LoginRequiredMiddleware",
    ]
    browser = signed_in.browser()
    order = {"sku": "jacket", "quantity": "1"}
    _, ref = reference(browser.post("/buy/", order))
    signed_in.approve(ref)
    assert browser.post("/buy/", order).status_code == 302
    assert signed_in.status(ref) == "performed"
