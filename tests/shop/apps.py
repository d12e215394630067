"""The test site's app."""

from __future__ import annotations

from django.apps import AppConfig


class ShopConfig(AppConfig):
    """A shop in a few lines. Its tables are made without migrations."""

    name = "tests.shop"
    label = "shop"
    default_auto_field = "django.db.models.BigAutoField"
