"""Benchmarks let the garbage collector look at everything again; the tests' run goes on without."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def lasting_objects_are_left_alone() -> Iterator[None]:
    yield
    gc.freeze()
