"""Fixtures of the tests of joins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.site import close_connections, prepare


@pytest.fixture
def agents_site(db: None, settings: Any) -> Iterator[None]:
    """Give a site that knows the agent."""
    prepare(settings)
    yield
    close_connections()
