"""Terms that change between two looks at them: what is performed was approved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.shortcuts import redirect

from poppy_operations.models import Operation
from tests.agents import ORDER, SessionOf, reference
from tests.asking import TWO, price, recorded
from tests.shop.models import Item
from tests.shop.operations import Behaviour

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]


def dearer_at_the_second_look(site: Behaviour) -> None:
    """Let the price change once the request has been checked."""
    looks: list[int] = []

    def look(request: Any) -> None:
        looks.append(1)
        if len(looks) >= 2:  # again, since what the run itself writes is taken back
            price("75.00")

    site.terms_answer = look


@pytest.mark.requirement("OPS-3-19", "OPS-3-22")
def test_a_price_that_changes_between_the_checks_and_the_run_performs_nothing(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref, approval = recorded(signed_out, browser)
    dearer_at_the_second_look(site)
    response = browser.post("/buy/", ORDER)
    assert response.status_code == 403
    site.terms_answer = lambda request: None
    operation = signed_out.look_up(reference(response)[1])
    assert operation["operation_id"] == approval["operation_id"]
    assert operation["terms"]["total"]["amount"] == "75.00"
    assert effects() == []
    assert signed_out.status(ref) == "approved"
    price("70.00")
    assert browser.post("/buy/", ORDER).status_code == 302


@pytest.mark.requirement("OPS-6-57", "OPS-7-18")
def test_terms_that_changed_before_the_run_find_the_approval_that_they_have(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects
) -> None:
    browser = signed_out.browser()
    cheap, _ = recorded(signed_out, browser)
    price("75.00")
    dear, _ = recorded(signed_out, browser)
    price("70.00")
    dearer_at_the_second_look(site)
    # An approval that is not used and matches is never answered with a reference.
    assert browser.post("/buy/", ORDER).status_code == 302
    assert effects() == ["shop.buy 1 jacket"]
    performed = Operation.objects.get().performance.revision
    assert performed.ref == dear != cheap


@pytest.mark.requirement("OPS-3-19")
def test_an_external_action_is_handed_the_approved_terms_whatever_changes(
    signed_out: SessionOf, jacket: Item, site: Behaviour
) -> None:
    browser = signed_out.browser()
    recorded(signed_out, browser, "/refund/")
    charged: list[str] = []

    def charge(operation: Any) -> None:
        price("75.00")
        charged.append(operation.terms["total"]["amount"])

    site.before_effect = charge
    assert browser.post("/refund/", ORDER).status_code == 302
    assert charged == ["70.00"]


@pytest.mark.requirement("OPS-3-20")
def test_without_an_approval_nothing_of_the_action_is_touched(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects, mailoutbox: list[Any]
) -> None:
    touched: list[str] = []
    site.before_effect = lambda _: touched.append("before")
    site.answer = lambda _: redirect("/done/", touched.append("answer"))
    browser = signed_out.browser()
    for path in ("/buy/", "/refund/", "/class/", "/form/", "/abuy/", "/arefund/", "/each/"):
        for data in (ORDER, TWO):
            assert browser.post(path, data).status_code == 403
    assert touched == []
    assert effects() == []
    assert mailoutbox == []
