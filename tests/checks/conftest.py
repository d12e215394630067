"""The system checks, which read the source of the test site's views again and again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from poppy_operations.checks import runs


@pytest.fixture(scope="package", autouse=True)
def source_is_read_once() -> Iterator[None]:
    """No test changes a file of source."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "_source", cache(runs._source))
        yield
