"""The test site's URLs, with a page that links lead to."""

from __future__ import annotations

from django.urls import path
from sesame.views import LoginView

from tests.urls import urlpatterns as plain

urlpatterns = [path("link/", LoginView.as_view(next_page="/plain/")), *plain]
