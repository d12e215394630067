"""Whose orders are whose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404
from django.shortcuts import get_object_or_404

from example_project.shop.models import Order

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


def own_order(user: User | AnonymousUser, order_id: str) -> Order:
    """Return the order if it is the user's own; anybody else's does not exist for them.

    An ID has one spelling: some databases ignore case, and two spellings must not be two actions.
    """
    order = get_object_or_404(Order, order_id=order_id, customer_id=user.pk)
    if order.order_id != order_id:
        raise Http404
    return order
