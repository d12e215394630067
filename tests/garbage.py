"""Lets the garbage collector leave alone what lasts as long as the tests: modules, and the tests.

Nothing of it is garbage before the last test has run, and it is much: while tests are collected, a
quarter of the time would go into looking for garbage, and afterwards every tenth second.
"""

from __future__ import annotations

import gc

import pytest

# Objects that are new, and generations: cycles are found later, in fewer and longer looks.
THRESHOLDS = (20_000, 10, 20)

gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Begin to look for garbage, in what comes from now on."""
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    gc.enable()
