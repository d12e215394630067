"""What Stormline sells, and what it did for its customers."""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from example_project.shop.ids import new_id

CURRENCY = "USD"
CENT = Decimal("0.01")


def new_exchange_id() -> str:
    return new_id("exc")


def new_reservation_id() -> str:
    return new_id("rsv")


def new_closure_id() -> str:
    return new_id("cls")


class Product(models.Model):
    """Something on sale, in one size."""

    sku = models.CharField("SKU", max_length=40, unique=True)
    name = models.CharField(max_length=100)
    size = models.CharField(max_length=10, blank=True)
    description = models.CharField(max_length=200, blank=True)
    price = models.DecimalField(max_digits=8, decimal_places=2, help_text=CURRENCY)

    class Meta:
        ordering: ClassVar = ["id"]

    def __str__(self) -> str:
        return f"{self.name} ({self.size})" if self.size else self.name


class Order(models.Model):
    """What a customer bought."""

    order_id = models.CharField("order ID", max_length=40, unique=True)
    customer = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="orders"
    )
    placed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar = ["id"]

    def __str__(self) -> str:
        return self.order_id


class OrderItem(models.Model):
    """One product of an order. Its price as ordered stays, whatever it is exchanged for."""

    item_id = models.CharField("item ID", max_length=40, unique=True)
    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="items")
    product = models.ForeignKey(Product, on_delete=models.PROTECT, related_name="+")
    ordered_price = models.DecimalField(max_digits=8, decimal_places=2, help_text=CURRENCY)

    class Meta:
        ordering: ClassVar = ["id"]

    def __str__(self) -> str:
        return f"{self.item_id}: {self.product}"


class Exchange(models.Model):
    """An item that was exchanged for another product."""

    exchange_id = models.CharField(
        "exchange ID", max_length=40, unique=True, default=new_exchange_id
    )
    item = models.ForeignKey(OrderItem, on_delete=models.PROTECT, related_name="exchanges")
    replaced = models.ForeignKey(Product, on_delete=models.PROTECT, related_name="+")
    replacement = models.ForeignKey(Product, on_delete=models.PROTECT, related_name="+")
    price_difference = models.DecimalField(max_digits=8, decimal_places=2, help_text=CURRENCY)
    operation_id = models.CharField("operation ID", max_length=64, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar = ["id"]

    def __str__(self) -> str:
        return self.exchange_id


class Refund(models.Model):
    """Money that the payment gateway sent back to a customer, as the shop noted it."""

    refund_id = models.CharField("refund ID", max_length=40, unique=True)
    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="refunds")
    amount = models.DecimalField(max_digits=8, decimal_places=2, help_text=CURRENCY)
    key = models.CharField("idempotency key", max_length=64, unique=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar = ["id"]

    def __str__(self) -> str:
        return self.refund_id


class Reservation(models.Model):
    """A number of one product that is kept for somebody, known to the shop or not."""

    reservation_id = models.CharField(
        "reservation ID", max_length=40, unique=True, default=new_reservation_id
    )
    product = models.ForeignKey(Product, on_delete=models.PROTECT, related_name="+")
    quantity = models.PositiveSmallIntegerField()
    total = models.DecimalField(max_digits=10, decimal_places=2, help_text=CURRENCY)
    customer = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="reservations",
        null=True,
        blank=True,
    )
    operation_id = models.CharField("operation ID", max_length=64, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar = ["id"]

    def __str__(self) -> str:
        return self.reservation_id


class Closure(models.Model):
    """An account that its holder asked to close. Staff carry it out within a month."""

    closure_id = models.CharField("closure ID", max_length=40, unique=True, default=new_closure_id)
    customer = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="closures"
    )
    operation_id = models.CharField("operation ID", max_length=64, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar = ["id"]

    def __str__(self) -> str:
        return self.closure_id
