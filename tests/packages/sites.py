"""The sites: one for each package, which has its own settings, URLs and tests."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent


class Site(NamedTuple):
    """A package's site: its section in the documentation, and what it has to import."""

    heading: str
    needs: tuple[str, ...] = ()


SITES = {
    "allauth": Site("django-allauth", ("allauth",)),
    "guardian": Site("django-guardian", ("guardian",)),
    "helpdesk": Site("django-helpdesk", ("helpdesk",)),
    "hijack": Site("django-hijack", ("hijack",)),
    "oauth_toolkit": Site("django-oauth-toolkit", ("oauth2_provider",)),
    "remote_user": Site("Header sign-on"),
    "reversion": Site("django-reversion", ("reversion",)),
    "sesame": Site("django-sesame", ("sesame",)),
    "simplejwt": Site("simplejwt", ("rest_framework_simplejwt",)),
    "user_sessions": Site("django-user-sessions", ("user_sessions",)),
}


def settings_of(site: str) -> str:
    """The settings module of a site."""
    return f"tests.packages.{site}.settings"


def running_site() -> str | None:
    """The site whose tests this process runs, by its settings; ``None`` for the plain tests."""
    settings = os.environ.get("DJANGO_SETTINGS_MODULE", "")
    return next((site for site in SITES if settings == settings_of(site)), None)


def missing(site: str) -> list[str]:
    """What the site needs and is not installed."""
    return [name for name in SITES[site].needs if find_spec(name) is None]
