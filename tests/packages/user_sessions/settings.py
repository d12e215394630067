"""The test site with django-user-sessions in the place of Django's own sessions."""

from __future__ import annotations

import warnings

from tests.packages import settings as plain
from tests.packages.settings import *  # noqa: F403  the same site in all else

# The package asks it for its own version, when it is imported.
warnings.filterwarnings("ignore", "pkg_resources is deprecated as an API")

INSTALLED_APPS = [
    "user_sessions" if app == "django.contrib.sessions" else app for app in plain.INSTALLED_APPS
]
MIDDLEWARE = [
    path.replace("django.contrib.sessions.middleware", "user_sessions.middleware")
    for path in plain.MIDDLEWARE
]
SESSION_ENGINE = "user_sessions.backends.db"
ROOT_URLCONF = "tests.packages.user_sessions.urls"
LOGOUT_REDIRECT_URL = "/done/"
