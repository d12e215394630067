"""The URLs of the app: one include in the site's own."""

from __future__ import annotations

from django.urls import URLPattern

app_name = "poppy_operations"
urlpatterns: list[URLPattern] = []
