"""The test site as an authorization server of its own, by django-oauth-toolkit."""

from __future__ import annotations

from tests.packages import settings as plain
from tests.packages.settings import *  # noqa: F403  the same site in all else

INSTALLED_APPS = [*plain.INSTALLED_APPS, "oauth2_provider"]
MIDDLEWARE = plain.before_ours(plain.MIDDLEWARE, "oauth2_provider.middleware.OAuth2TokenMiddleware")
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "oauth2_provider.backends.OAuth2Backend",
]
OAUTH2_PROVIDER = {"SCOPES": {"orders:write": "Order", "orders:read": "Look"}}
ROOT_URLCONF = "tests.packages.oauth_toolkit.urls"
POPPY_OPERATIONS = {
    **plain.POPPY_OPERATIONS,
    "COMPANY": "tests.packages.oauth_toolkit.company.ShopCompany",
}
