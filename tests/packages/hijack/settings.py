"""The test site with django-hijack."""

from __future__ import annotations

from tests.packages import settings as plain
from tests.packages.settings import *  # noqa: F403  the same site in all else

INSTALLED_APPS = [*plain.INSTALLED_APPS, "hijack"]
MIDDLEWARE = [*plain.MIDDLEWARE, "hijack.middleware.HijackUserMiddleware"]
ROOT_URLCONF = "tests.packages.hijack.urls"
