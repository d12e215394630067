"""The Django app of the shop."""

from __future__ import annotations

from django.apps import AppConfig


class ShopConfig(AppConfig):
    """Stormline, with orders, exchanges, refunds, reservations and account closures."""

    name = "example_project.shop"
    verbose_name = "Stormline"
