"""What tests need beside Python: a server, a browser, a program."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def missing(what: str) -> NoReturn:
    """Skip a test that misses something on somebody's machine. With ``POPPY_REQUIRE``, fail."""
    if os.environ.get("POPPY_REQUIRE"):
        pytest.fail(what)
    pytest.skip(what)
