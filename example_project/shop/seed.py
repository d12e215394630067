"""The data that the demo starts with."""

from __future__ import annotations

from decimal import Decimal

from django.contrib.auth.models import Permission, User
from django.db import transaction
from django.db.models import Q

from example_project.shop.models import (
    Closure,
    Exchange,
    Order,
    OrderItem,
    Product,
    Refund,
    Reservation,
)
from example_project.shop.refunds import gateway
from poppy_operations.models import Agent, Operation

PASSWORD = "demo-password"  # noqa: S105  the demo's sign-in page shows it
PRODUCTS = [
    ("stormline-m", "Stormline Jacket", "M", "Three layers against rain. Light.", "150.00"),
    (
        "stormline-insulated-m",
        "Stormline Insulated Jacket",
        "M",
        "The same shell, warm enough to stand still in.",
        "220.00",
    ),
    (
        "stormline-insulated-l",
        "Stormline Insulated Jacket",
        "L",
        "The same shell, warm enough to stand still in.",
        "230.00",
    ),
    ("ridge-fleece-m", "Ridge Fleece", "M", "Goes under everything.", "85.00"),
    ("gale-trousers-m", "Gale Trousers", "M", "Side zips, so boots stay on.", "120.00"),
    ("squall-cap", "Squall Cap", "", "A brim that keeps its shape.", "32.00"),
]
ORDERS = [
    ("alice", "ord_7Hk2", "itm_4Qa", "stormline-m"),
    ("bob", "ord_9Zp4", "itm_8Rt", "stormline-m"),
]
ORDERED_PRICE = Decimal("150.00")


def seed(*, reset: bool = False) -> None:
    """Create what is missing; with ``reset`` begin again, the gateway's books included.

    Personal Agents on the allow-list stay, and those that were revoked are forgotten, so that the
    demo agent is let in again. A shop without orders is a new one, and begins with
    empty books.
    """
    if reset or not Order.objects.exists():
        gateway().forget_everything()
    with transaction.atomic():
        if reset:
            _clear()
        _users()
        for sku, name, size, description, price in PRODUCTS:
            defaults = {
                "name": name,
                "size": size,
                "description": description,
                "price": Decimal(price),
            }
            Product.objects.get_or_create(sku=sku, defaults=defaults)
        for username, order_id, item_id, sku in ORDERS:
            customer = User.objects.get(username=username)
            order, _ = Order.objects.get_or_create(
                order_id=order_id, defaults={"customer": customer}
            )
            product = Product.objects.get(sku=sku)
            OrderItem.objects.get_or_create(
                item_id=item_id,
                defaults={"order": order, "product": product, "ordered_price": ORDERED_PRICE},
            )


def _clear() -> None:
    Operation.objects.all().delete()
    Agent.objects.filter(status=Agent.Status.REVOKED).delete()
    for model in (Exchange, Refund, Reservation, Closure, OrderItem, Order, Product):
        model._default_manager.all().delete()  # noqa: SLF001  Django's documented name


def _users() -> None:
    for username in ("alice", "bob", "staff"):
        user, created = User.objects.get_or_create(
            username=username, defaults={"is_staff": username == "staff"}
        )
        if created:
            user.set_password(PASSWORD)
            user.save(update_fields=["password"])
    may_view = Q(
        codename__startswith="view_", content_type__app_label__in=["poppy_operations", "shop"]
    )
    may_keep_agents = Q(
        codename__in=["add_agent", "change_agent"], content_type__app_label="poppy_operations"
    )
    staff = User.objects.get(username="staff")
    staff.user_permissions.add(*Permission.objects.filter(may_view | may_keep_agents))
