"""The test site with Django's header sign-on."""

from __future__ import annotations

from tests.packages import settings as plain
from tests.packages.settings import *  # noqa: F403  the same site in all else

REMOTE_USER = "django.contrib.auth.middleware.RemoteUserMiddleware"
PERSISTENT = "django.contrib.auth.middleware.PersistentRemoteUserMiddleware"

MIDDLEWARE = plain.before_ours(plain.MIDDLEWARE, REMOTE_USER)
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "django.contrib.auth.backends.RemoteUserBackend",
]
