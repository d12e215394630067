"""Tests that show faults which are not mended yet; each has to fail until it is.

Take a test off the list together with its fault: it fails as soon as the fault is gone.
"""

from __future__ import annotations

import pytest

from tests.packages.sites import FOLDER

NO_NAME = "the message does not name the middleware that opened the transaction"


# What the tests raise themselves: one whose fixtures fail shows nothing.
RAISED = AssertionError

FAULTS = {
    NO_NAME: (
        "reversion/test_reversion.py::test_the_middlewares_transaction_is_refused_by_its_name",
    ),
}


def mark(items: list[pytest.Item]) -> None:
    """Expect the listed tests to fail."""
    reasons = {test: reason for reason, tests in FAULTS.items() for test in tests}
    for item in items:
        if FOLDER not in item.path.parents:
            continue
        test = item.path.relative_to(FOLDER).as_posix() + "::" + item.nodeid.split("::", 1)[1]
        if test in reasons:
            item.add_marker(pytest.mark.xfail(strict=True, raises=RAISED, reason=reasons[test]))
