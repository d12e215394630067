"""The URLs of the app: one include in the site's own."""

from __future__ import annotations

from django.urls import URLPattern, path

from poppy_operations.views.endpoint import operations
from poppy_operations.views.join import join, ticket
from poppy_operations.views.waiting import waiting

app_name = "poppy_operations"
urlpatterns: list[URLPattern] = [
    path("join", join, name="join"),
    path("join/<str:ticket>", ticket, name="ticket"),
    path("operations", operations, name="operations"),
    path("waiting/<str:watch>", waiting, name="waiting"),
]
