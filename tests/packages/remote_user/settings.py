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
# The front names nobody in browsers that agents use, or a test is about the opposite.
SILENCED_SYSTEM_CHECKS = [*plain.SILENCED_SYSTEM_CHECKS, "poppy_operations.W009"]
