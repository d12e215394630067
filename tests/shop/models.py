"""What the test site sells, and the effects that its actions leave behind."""

from __future__ import annotations

from django.db import models


class Item(models.Model):
    """Something with a price that changes."""

    sku = models.CharField(max_length=40, unique=True)
    price = models.DecimalField(max_digits=8, decimal_places=2)
    stock = models.IntegerField(default=100)

    class Meta:
        app_label = "shop"

    def __str__(self) -> str:
        return self.sku


class Effect(models.Model):
    """One thing that really happened."""

    kind = models.CharField(max_length=40)
    key = models.CharField(max_length=200)

    class Meta:
        app_label = "shop"

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"
