"""The tests' site on an SQLite file."""

from __future__ import annotations

from tests.databases import sqlite_file
from tests.settings import *  # noqa: F403  the same site in all else

DATABASES = {"default": sqlite_file()}
