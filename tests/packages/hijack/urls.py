"""The test site's URLs, with those of django-hijack."""

from __future__ import annotations

from django.urls import include, path

from tests.urls import urlpatterns as plain

urlpatterns = [path("hijack/", include("hijack.urls")), *plain]
