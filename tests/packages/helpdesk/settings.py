"""The test site with a help desk."""

from __future__ import annotations

from tests.packages import settings as plain
from tests.packages.settings import *  # noqa: F403  the same site in all else

INSTALLED_APPS = [
    *plain.INSTALLED_APPS,
    "django.contrib.humanize",
    "django.contrib.sites",
    "helpdesk",
]
SITE_ID = 1
ROOT_URLCONF = "tests.packages.helpdesk.urls"
HELPDESK_VIEW_A_TICKET_PUBLIC = True
HELPDESK_TEAMS_MODE_ENABLED = False
