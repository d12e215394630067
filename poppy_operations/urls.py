"""The URLs of the app: one include in the site's own."""

from __future__ import annotations

from django.urls import URLPattern, path

from poppy_operations.views.join import join, ticket

app_name = "poppy_operations"
urlpatterns: list[URLPattern] = [
    path("join", join, name="join"),
    path("join/<str:ticket>", ticket, name="ticket"),
]
