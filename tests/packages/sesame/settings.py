"""The test site with django-sesame, which signs in by a link to any page."""

from __future__ import annotations

from tests.packages import settings as plain
from tests.packages.settings import *  # noqa: F403  the same site in all else

LINKS = "sesame.middleware.AuthenticationMiddleware"

MIDDLEWARE = plain.before_ours(plain.MIDDLEWARE, LINKS)
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "sesame.backends.ModelBackend",
]
ROOT_URLCONF = "tests.packages.sesame.urls"
