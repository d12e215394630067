"""Handlers of gated classes, which validate before they ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpResponse

from tests.agents import ORDER, SessionOf, reference
from tests.asking import TWO, ask, error, recorded
from tests.shop.models import Item
from tests.shop.operations import Behaviour

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]


@pytest.mark.requirement("OPS-4-56")
@pytest.mark.ambiguity("AMB-25")
def test_amb_25_a_gated_class_asks_for_the_right_before_it_validates(
    signed_in: SessionOf, jacket: Item, site: Behaviour, effects: Effects, client: Any, alice: Any
) -> None:
    site.allowed = lambda request: HttpResponse("not yours", status=404)
    browser = signed_in.browser()
    client.force_login(alice)
    for anybody in (browser, client):
        for data in (ORDER, {"sku": ""}):
            response = anybody.post("/guarded/", data)
            assert (response.status_code, response.content) == (404, b"not yours")
    site.allowed = lambda request: None
    ref, _ = recorded(signed_in, browser, "/guarded/")
    site.allowed = lambda request: HttpResponse("not yours", status=404)
    assert browser.post("/guarded/", ORDER).status_code == 404
    assert effects() == []
    assert signed_in.status(ref) == "approved"
    site.allowed = lambda request: None
    assert browser.post("/guarded/", ORDER).status_code == 302
    assert client.post("/guarded/", TWO).status_code == 302
    assert effects() == ["shop.buy 1 jacket", "shop.buy 2 jacket"]


def test_a_gated_class_serves_no_api(signed_out: SessionOf, jacket: Item, effects: Effects) -> None:
    browser = signed_out.browser()
    ask(browser, "/form/")
    response = browser.post("/form/", ORDER, headers=signed_out.headers())
    assert error(response) == (400, "invalid_request")
    response = browser.post("/form/", ORDER, headers={"Poppy-Session": "a.b.c"})
    assert error(response) == (403, "invalid_session")
    assert effects() == []


def test_the_reference_of_a_class_is_the_same_as_of_a_function(
    signed_out: SessionOf, jacket: Item
) -> None:
    browser = signed_out.browser()
    first = reference(browser.post("/form/", ORDER))
    assert reference(browser.post("/form/", ORDER)) == first
    assert reference(browser.post("/buy/", ORDER))[1] != first[1]
