"""The background actions of the crash matrix, for browsers as well."""

from __future__ import annotations

from django.urls import include, path

from tests.crash.site import api, in_database_later, outside_later, page

PATHS = {
    "website": {"database": "/website/database/", "external": "/website/external/"},
    "api": {"database": "/api/database/", "external": "/api/external/"},
}
urlpatterns = [
    path("poppy/", include("poppy_operations.urls")),
    path("website/database/", page(in_database_later)),
    path("website/external/", page(outside_later)),
    path("api/database/", api(in_database_later)),
    path("api/external/", api(outside_later)),
]
