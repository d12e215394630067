"""Reserve a number of one product. Stormline never runs out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from example_project.shop.models import Product, Reservation
from example_project.shop.prices import amount_of, dollars, money

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

QUANTITIES = (1, 99)


def reservation_values(product: Product, quantity: int) -> dict[str, object]:
    """Return the terms of reserving, at today's price."""
    return {
        "sku": product.sku,
        "quantity": quantity,
        "total": money(product.price * quantity),
    }


def reservation_summary(product: Product, quantity: int) -> str:
    """Return the same terms in words."""
    return f"Reserve {quantity} x {product} for {dollars(product.price * quantity)} in all."


def reserve(
    terms: Mapping[str, Any], operation_id: str | None, user: User | AnonymousUser
) -> Reservation:
    """Make the reservation exactly as ``terms`` say, for the customer or for nobody known."""
    return Reservation.objects.create(
        product=Product.objects.get(sku=terms["sku"]),
        quantity=terms["quantity"],
        total=amount_of(terms["total"]),
        customer=user if user.is_authenticated else None,
        operation_id=operation_id or "",
    )
