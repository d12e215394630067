"""Fixtures of the tests of agents' browsers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.site import prepare


@pytest.fixture(autouse=True)
def agents_site(db: None, settings: Any) -> None:
    """Give a site that knows the agent."""
    prepare(settings)
