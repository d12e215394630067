"""The test site's URLs, with views that change an item in a revision."""

from __future__ import annotations

from decimal import Decimal

import reversion
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import path
from reversion.views import create_revision

from poppy_operations import NotPerformed, operation_of
from tests.shop import operations as shop
from tests.shop.models import Item
from tests.urls import urlpatterns as plain

reversion.register(Item)


def mark_down(request: HttpRequest) -> HttpResponseBase:
    """Sell an item for half the price from now on, and say so in the shop's log."""
    operation = operation_of(request)
    item = Item.objects.get(sku=operation.terms["sku"])
    item.price = item.price / Decimal(2)
    item.save()
    return shop.happen(operation)


@shop.exchange.view(terms=shop.order_terms)
@create_revision()
def inside(request: HttpRequest) -> HttpResponseBase:
    """The revision belongs to the action."""
    return mark_down(request)


@shop.exchange.view(terms=shop.order_terms)
def by_itself(request: HttpRequest) -> HttpResponseBase:
    """The revision is opened in the view, and says whose approval it was."""
    with reversion.create_revision():
        reversion.set_user(request.user)
        reversion.set_comment(operation_of(request).operation_id or "A visitor's")
        return mark_down(request)


@shop.exchange.view(terms=shop.order_terms)
def not_after_all(request: HttpRequest) -> HttpResponseBase:
    """The item is saved in a revision, and then it is not done."""
    with reversion.create_revision():
        mark_down(request)
    raise NotPerformed(HttpResponse("It cannot be marked down.", status=409))


@create_revision()
@shop.exchange.view(terms=shop.order_terms)
def around(request: HttpRequest) -> HttpResponseBase:
    """The revision's transaction is around the gate."""
    return mark_down(request)


urlpatterns = [
    path("inside/", inside),
    path("by-itself/", by_itself),
    path("not-after-all/", not_after_all),
    path("around/", around),
    *plain,
]
