"""The test site's URLs, with those of django-allauth."""

from __future__ import annotations

from django.urls import include, path

from tests.urls import urlpatterns as plain

urlpatterns = [path("allauth/", include("allauth.urls")), *plain]
