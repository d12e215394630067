"""The test site's URLs, with a view that asks for a right to the very item."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import path

from poppy_operations import operation_of
from tests.shop import operations as shop
from tests.shop.models import Item
from tests.urls import urlpatterns as plain

RIGHT = "shop.change_item"


def own_item(request: HttpRequest, sku: str) -> None:
    """Whether the user has the right to this item."""
    item = get_object_or_404(Item, sku=sku)
    if not request.user.has_perm(RIGHT, item):
        raise PermissionDenied


@shop.exchange.view(terms=shop.order_terms, allowed=own_item)
def restock(request: HttpRequest, sku: str) -> HttpResponseBase:
    """Order more of an item that is in one's care."""
    return shop.happen(operation_of(request))


urlpatterns = [path("items/<str:sku>/restock/", restock), *plain]
