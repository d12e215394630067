"""Which references serve, and for which actions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from poppy_operations.declarations.registry import registry
from poppy_operations.lifecycle import asking
from tests.agents import ORDER, SessionOf, approval_of
from tests.asking import ask
from tests.shop import operations as shop
from tests.shop.models import Item

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]


@pytest.mark.requirement("OPS-4-28")
def test_references_of_any_form_serve(
    signed_out: SessionOf, jacket: Item, monkeypatch: pytest.MonkeyPatch, effects: Effects
) -> None:
    monkeypatch.setattr(asking, "new_ref", lambda: "exc_5Rt2.1791487200.k3Jd9Qx2mW8v")
    browser = signed_out.browser()
    ref = ask(browser)
    assert ref == "exc_5Rt2.1791487200.k3Jd9Qx2mW8v"
    signed_out.approve(ref)
    assert browser.post("/buy/", ORDER).status_code == 302
    assert signed_out.status(ref) == "performed"
    assert len(effects()) == 1


def test_an_action_that_a_deployment_dropped_can_still_be_approved_and_looked_up(
    signed_out: SessionOf, jacket: Item
) -> None:
    ref = ask(signed_out.browser())
    approval = approval_of(signed_out.look_up(ref))
    registry.discard(shop.buy)
    try:
        assert signed_out.endpoint(ref, approval).status_code == 204
        assert signed_out.status(ref) == "approved"
    finally:
        registry.add(shop.buy)
