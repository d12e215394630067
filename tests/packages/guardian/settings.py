"""The test site with django-guardian."""

from __future__ import annotations

from tests.packages import settings as plain
from tests.packages.settings import *  # noqa: F403  the same site in all else

INSTALLED_APPS = [*plain.INSTALLED_APPS, "guardian"]
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "guardian.backends.ObjectPermissionBackend",
]
ROOT_URLCONF = "tests.packages.guardian.urls"
