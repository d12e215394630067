"""The test site with django-reversion; its middleware opens no transaction."""

from __future__ import annotations

from tests.packages import settings as plain
from tests.packages.settings import *  # noqa: F403  the same site in all else

INSTALLED_APPS = [*plain.INSTALLED_APPS, "reversion"]
ROOT_URLCONF = "tests.packages.reversion.urls"
