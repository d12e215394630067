"""The test site's URLs, with the list of a user's sessions."""

from __future__ import annotations

from django.urls import include, path

from tests.urls import urlpatterns as plain

urlpatterns = [path("", include("user_sessions.urls")), *plain]
