"""The actions, their terms, and what each of them does."""

from __future__ import annotations

from typing import Any

from benchmarks.site.models import Effect
from poppy_operations import Action, Performed, Terms

order = Action("benchmark.order", effects="database", prefix="ord")
transfer = Action("benchmark.transfer", effects="external", prefix="tra")
page_order = Action("benchmark.page_order", effects="database", prefix="pag")
visit = Action("benchmark.visit", effects="database")


@transfer.reconcile
def transferred(operation: Any) -> Performed:
    """Say what became of a transfer, which nobody asks here."""
    return Performed()


def terms_of(data: Any) -> Terms:
    """Give the terms of an order, without a look into the database."""
    sku, quantity = str(data["sku"]), int(data["quantity"])
    total = {"amount": 12 * quantity, "currency": "USD"}
    return Terms(
        {"sku": sku, "quantity": quantity, "total": total},
        summary=f"Order {quantity} × {sku} for ${total['amount']}.",
    )


def take(data: Any) -> dict[str, Any]:
    """Insert the one row, and give what is answered."""
    effect = Effect.objects.create(sku=data["sku"], quantity=data["quantity"])
    return {"order": effect.pk, "sku": effect.sku, "quantity": effect.quantity}
