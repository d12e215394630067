"""The test site with the accounts of django-allauth."""

from __future__ import annotations

from tests.packages import settings as plain
from tests.packages.settings import *  # noqa: F403  the same site in all else

INSTALLED_APPS = [*plain.INSTALLED_APPS, "allauth", "allauth.account"]
MIDDLEWARE = [*plain.MIDDLEWARE, "allauth.account.middleware.AccountMiddleware"]
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
ROOT_URLCONF = "tests.packages.allauth.urls"
LOGIN_REDIRECT_URL = "/plain/"
ACCOUNT_EMAIL_VERIFICATION = "optional"
ACCOUNT_RATE_LIMITS = False
