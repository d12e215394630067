"""Everything that really happened, for those who check that it happened once."""

from __future__ import annotations

from datetime import UTC, datetime

from example_project.shop.models import Closure, Exchange, Reservation
from example_project.shop.prices import money
from example_project.shop.refunds import gateway

Effect = dict[str, object]


def effects() -> list[Effect]:
    """Return every effect in order: the shop's own from its database, money from the gateway."""
    found = [*_exchanges(), *_reservations(), *_closures(), *_at_the_gateway()]
    return sorted(found, key=lambda effect: str(effect["at"]))


def _instant(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def _exchanges() -> list[Effect]:
    return [
        {
            "effect": "exchange",
            "key": made.exchange_id,
            "at": _instant(made.created_at),
            "operation_id": made.operation_id or None,
            "order_id": made.item.order.order_id,
            "item_id": made.item.item_id,
            "replacement_sku": made.replacement.sku,
            "price_difference": money(made.price_difference),
        }
        for made in Exchange.objects.select_related("item__order", "replacement")
    ]


def _reservations() -> list[Effect]:
    return [
        {
            "effect": "reservation",
            "key": made.reservation_id,
            "at": _instant(made.created_at),
            "operation_id": made.operation_id or None,
            "sku": made.product.sku,
            "quantity": made.quantity,
            "total": money(made.total),
            "account": None if made.customer_id is None else str(made.customer_id),
        }
        for made in Reservation.objects.select_related("product")
    ]


def _closures() -> list[Effect]:
    return [
        {
            "effect": "closure",
            "key": made.closure_id,
            "at": _instant(made.created_at),
            "operation_id": made.operation_id or None,
            "account": str(made.customer_id),
        }
        for made in Closure.objects.all()
    ]


def _at_the_gateway() -> list[Effect]:
    found: list[Effect] = []
    for entry in gateway().entries():
        effect: Effect = {"effect": entry.kind, "key": entry.key, "at": entry.at}
        if entry.kind == "refund":
            effect |= {
                "refund_id": entry.refund_id,
                "order_id": entry.order_id,
                "amount": {"amount": entry.amount, "currency": "USD"},
            }
        found.append(effect)
    return found
