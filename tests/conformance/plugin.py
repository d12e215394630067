"""Fails a test whose marks name a statement that there is not, or that misnames a decision.

Whether every statement is claimed by somebody is no matter of one run: ``test_conformance.py`` asks
that of the source of all tests, so that a run of a part of the suite is not blamed for the rest.
"""

from __future__ import annotations

import pytest

from tests.conformance.audit import mark_problems
from tests.conformance.claims import KINDS
from tests.conformance.ledger import ledger


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Look at the marks of the test that is about to run."""
    name = getattr(item, "originalname", None) or item.name
    problems = [
        problem
        for kind in sorted(KINDS)
        for mark in item.iter_markers(kind)
        for identifier in mark.args
        for problem in mark_problems(kind, identifier, name, ledger())
    ]
    if problems:
        pytest.fail("; ".join(problems), pytrace=False)
