"""The tests' site on MariaDB."""

from __future__ import annotations

from tests.databases import mariadb
from tests.settings import *  # noqa: F403  the same site in all else

DATABASES = {"default": mariadb()}
