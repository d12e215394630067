"""Gated views that call each other within one request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import path

from poppy_operations import Action, Terms, operation_of
from tests.agents import SessionOf, reference
from tests.shop.models import Effect
from tests.urls import urlpatterns as of_the_shop

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.website.test_within")]

pay = Action("within.pay", effects="database")
LIMIT = 100


def pay_terms(request: HttpRequest, amount: int) -> Terms:
    """Small amounts need no approval."""
    return Terms({"amount": amount}, needed=amount > LIMIT)


@pay.view(terms=pay_terms)
def paying(request: HttpRequest, amount: int) -> HttpResponseBase:
    """Pay what the terms say."""
    Effect.objects.create(kind="pay", key=str(operation_of(request).terms["amount"]))
    return HttpResponse("paid")


@pay.view(terms=lambda request, amount: Terms({"amount": 0}, needed=False))
def rounding(request: HttpRequest, amount: int) -> HttpResponseBase:
    """A view of the same action that calls the other one, for whatever amount."""
    return paying(request, amount=amount)


@pay.view(terms=pay_terms)
def forwarding(request: HttpRequest, amount: int) -> HttpResponseBase:
    """A view that leaves everything to the other one."""
    return paying(request, amount=amount)


urlpatterns = [
    *of_the_shop,
    path("round/<int:amount>/", rounding),
    path("forward/<int:amount>/", forwarding),
]


def test_what_needed_no_approval_lends_none_to_what_it_calls(
    signed_out: SessionOf, effects: Callable[[], list[str]]
) -> None:
    browser = signed_out.browser()
    assert browser.post("/round/50/").status_code == 200
    assert effects() == ["pay 50"]
    refused = browser.post("/round/500/")
    assert refused.status_code == 403
    assert signed_out.look_up(reference(refused)[1])["terms"] == {"amount": 500}
    assert effects() == ["pay 50"]


def test_one_approval_covers_the_view_that_an_approved_one_leaves_everything_to(
    signed_out: SessionOf, effects: Callable[[], list[str]]
) -> None:
    browser = signed_out.browser()
    signed_out.approve(reference(browser.post("/forward/500/"))[1])
    assert browser.post("/forward/500/").content == b"paid"
    assert effects() == ["pay 500"]


def test_a_visitor_is_let_through_both(client: Any, effects: Callable[[], list[str]]) -> None:
    assert client.post("/round/500/").content == b"paid"
    assert client.post("/forward/500/").content == b"paid"
    assert effects() == ["pay 500", "pay 500"]
