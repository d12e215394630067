"""Exchange an item of an order: the exact terms, and the action that keeps to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from example_project.shop.models import Exchange, OrderItem, Product
from example_project.shop.prices import amount_of, dollars, money


def exchange_values(item: OrderItem, replacement: Product) -> dict[str, object]:
    """Return the terms of exchanging ``item``, at today's price of the replacement.

    The difference counts from the price as ordered, however often the item was exchanged since.
    """
    return {
        "order_id": item.order.order_id,
        "item_id": item.item_id,
        "replacement_sku": replacement.sku,
        "price_difference": money(replacement.price - item.ordered_price),
    }


def exchange_summary(item: OrderItem, replacement: Product) -> str:
    """Return the same terms in words that are enough to decide from."""
    difference = replacement.price - item.ordered_price
    if difference > 0:
        price = f"{dollars(difference)} more than ordered, charged to the card used for the order"
    elif difference < 0:
        price = (
            f"{dollars(-difference)} less than ordered, paid back to the card used for the order"
        )
    else:
        price = "the price as ordered"
    return (
        f"Exchange the {item.product} (item {item.item_id}) on order {item.order.order_id} "
        f"for the {replacement}, for {price}."
    )


@transaction.atomic
def exchange_item(terms: Mapping[str, Any], operation_id: str | None) -> Exchange:
    """Exchange the item exactly as ``terms`` say, and return the record of it."""
    item = OrderItem.objects.select_for_update().get(
        item_id=terms["item_id"], order__order_id=terms["order_id"]
    )
    replacement = Product.objects.get(sku=terms["replacement_sku"])
    exchange = Exchange.objects.create(
        item=item,
        replaced=item.product,
        replacement=replacement,
        price_difference=amount_of(terms["price_difference"]),
        operation_id=operation_id or "",
    )
    item.product = replacement
    item.save(update_fields=["product"])
    return exchange
