"""The tests' site on PostgreSQL."""

from __future__ import annotations

from tests.databases import postgres
from tests.settings import *  # noqa: F403  the same site in all else

DATABASES = {"default": postgres()}
