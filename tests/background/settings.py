"""The tests' site in a worker's process, on the database that the tests use just now."""

from __future__ import annotations

import json
import os

from tests.background.app import DATABASE
from tests.settings import *  # noqa: F403  the same site in all else

DATABASES = {"default": json.loads(os.environ[DATABASE])}
ROOT_URLCONF = "tests.crash.site"
