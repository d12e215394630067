"""The main job, end to end: asked, approved at the endpoint, continued, once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from poppy_operations.models import Approval, Operation, Performance
from tests.agents import ORDER, SessionOf, approval_of, reference
from tests.shop.models import Item
from tests.shop.operations import Behaviour

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]


@pytest.mark.requirement(
    "OPS-1-01", "OPS-1-03", "OPS-1-09", "OPS-4-01", "OPS-6-36", "OPS-6-55", "OPS-4-17"
)
@pytest.mark.parametrize("path", ["/buy/", "/abuy/", "/class/", "/form/", "/refund/", "/arefund/"])
def test_an_approved_request_is_performed_once_through_every_door(
    path: str, signed_out: SessionOf, jacket: Item, effects: Effects
) -> None:
    browser = signed_out.browser()
    asked = browser.post(path, ORDER)
    assert asked.status_code == 403
    sid, ref = reference(asked)
    assert sid == signed_out.sid
    assert effects() == []

    operation = signed_out.look_up(ref)
    assert operation["terms"] == {
        "sku": "jacket",
        "quantity": 1,
        "total": {"amount": "70.00", "currency": "USD"},
    }
    assert signed_out.endpoint(ref, approval_of(operation)).status_code == 204
    assert effects() == []
    assert signed_out.status(ref) == "approved"

    continued = browser.post(path, ORDER)
    assert (continued.status_code, continued["Location"]) == (302, "/done/")
    assert len(effects()) == 1
    assert signed_out.status(ref) == "performed"

    again = browser.post(path, ORDER)
    assert again.status_code == 403
    _, other = reference(again)
    assert signed_out.look_up(other)["operation_id"] != operation["operation_id"]
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-2-23")
def test_ordinary_visitors_notice_nothing(client: Any, jacket: Item, effects: Effects) -> None:
    response = client.post("/buy/", ORDER)
    assert response.status_code == 302
    assert "Poppy-Operation" not in response
    assert effects() == ["shop.buy 1 jacket"]
    assert not Operation.objects.exists()


@pytest.mark.requirement("OPS-3-05", "OPS-3-22", "OPS-5-02", "OPS-6-68")
def test_a_price_that_changed_needs_a_new_approval_of_the_same_operation(
    signed_out: SessionOf, jacket: Item, effects: Effects
) -> None:
    browser = signed_out.browser()
    _, ref = reference(browser.post("/buy/", ORDER))
    first = signed_out.approve(ref)
    Item.objects.update(price=Decimal("75.00"))
    response = browser.post("/buy/", ORDER)
    assert response.status_code == 403
    _, other = reference(response)
    operation = signed_out.look_up(other)
    assert operation["operation_id"] == first["operation_id"]
    assert operation["revision"] != first["revision"]
    assert operation["terms"]["total"]["amount"] == "75.00"
    assert effects() == []

    Item.objects.update(price=Decimal("70.00"))
    assert browser.post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 1
    assert signed_out.status(other) == "performed"


def test_the_admin_can_see_who_approved(signed_out: SessionOf, jacket: Item) -> None:
    browser = signed_out.browser()
    _, ref = reference(browser.post("/buy/", ORDER))
    signed_out.approve(ref, approved_at=1791487260, input_type="tap", reference="apr_1")
    browser.post("/buy/", ORDER)
    approval = Approval.objects.get()
    assert (approval.approved_at, approval.input_type, approval.reference) == (
        1791487260,
        "tap",
        "apr_1",
    )
    performance = Performance.objects.get()
    assert performance.approval == approval
    assert (performance.status, performance.body) == (302, None)


@pytest.mark.requirement("OPS-3-17", "OPS-4-49", "OPS-6-70")
@pytest.mark.ambiguity("AMB-16", "AMB-11")
def test_amb_16_amb_11_an_approval_is_good_until_the_very_second_it_expires(
    signed_out: SessionOf, jacket: Item, effects: Effects
) -> None:
    start = timezone.now().replace(microsecond=0)
    with time_machine.travel(start, tick=False) as clock:
        browser = signed_out.browser()
        _, ref = reference(browser.post("/buy/", ORDER))
        _, unused = reference(browser.post("/buy/", {**ORDER, "quantity": "2"}))
        last = (start + timedelta(minutes=15)).strftime("%Y-%m-%dT%H:%M:%SZ")
        assert signed_out.look_up(ref)["expires_at"] == last
        too_late = approval_of(signed_out.look_up(unused))
        clock.move_to(start + timedelta(minutes=15, milliseconds=999))
        signed_out.approve(ref)
        clock.move_to(start + timedelta(minutes=15, seconds=1))
        assert signed_out.endpoint(ref).status_code == 400
        assert signed_out.endpoint(unused).status_code == 400
        assert signed_out.endpoint(unused, too_late).status_code == 400
        assert browser.post("/buy/", ORDER).status_code == 403
        assert effects() == []
        clock.move_to(start + timedelta(minutes=15, milliseconds=999))
        assert browser.post("/buy/", ORDER).status_code == 302


def test_a_site_may_need_no_approval_this_time(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects
) -> None:
    site.needed = False
    assert signed_out.browser().post("/buy/", ORDER).status_code == 302
    assert effects() == ["shop.buy 1 jacket"]
    assert not Operation.objects.exists()
