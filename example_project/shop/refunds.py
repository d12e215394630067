"""Refund money of an order, which happens at the payment gateway, outside the shop's database."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.conf import settings

from example_project.payments.gateway import Entry, Gateway
from example_project.shop.ids import new_id
from example_project.shop.models import Order, Refund
from example_project.shop.prices import amount_of, dollars, money

AMOUNTS = (Decimal("0.01"), Decimal("100.00"))


def gateway() -> Gateway:
    """Return the client of the payment gateway."""
    return Gateway(settings.PAYMENTS_FILE)


def refund_values(order: Order, amount: Decimal) -> dict[str, object]:
    """Return the terms of a refund."""
    return {"order_id": order.order_id, "amount": money(amount)}


def refund_summary(order: Order, amount: Decimal) -> str:
    """Return the same terms in words."""
    return f"Refund {dollars(amount)} of order {order.order_id} to the card used for the order."


def refund_money(terms: Mapping[str, Any], key: str | None, *, delay_ms: int = 0) -> Refund:
    """Have the gateway refund exactly what ``terms`` say, and note it in the shop.

    ``key`` is the operation's idempotency key, so that however often this runs for one operation
    the money moves once.

    Raises:
        PaymentRefused: nothing happened.
        PaymentError: nobody knows yet whether the money moved.

    """
    entry = gateway().refund(
        key=key or new_id("direct"),
        order_id=terms["order_id"],
        amount=amount_of(terms["amount"]),
        delay_ms=delay_ms,
    )
    return note_refund(entry)


def refund_that_happened(key: str) -> Refund | None:
    """Find out at the gateway what became of an operation's refund.

    The key is barred first: from then on the gateway refuses it, so that "it did not happen"
    stays true even if a late request of ours were still on its way.
    """
    entry = gateway().bar(key)
    return None if entry.kind == "bar" else note_refund(entry)


def note_refund(entry: Entry) -> Refund:
    """Write into the shop's database what the gateway's books say."""
    refund, _ = Refund.objects.get_or_create(
        key=entry.key,
        defaults={
            "refund_id": entry.refund_id or "",
            "order": Order.objects.get(order_id=entry.order_id),
            "amount": Decimal(entry.amount or 0),
        },
    )
    return refund
