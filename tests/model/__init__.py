"""The model-based test: a state machine, and a model that was written from the text alone."""

from __future__ import annotations

import pytest

# What they assert is shown like the assertions of tests.
pytest.register_assert_rewrite(
    "tests.model.answers",
    "tests.model.approving",
    "tests.model.browsing",
    "tests.model.machine",
    "tests.model.world",
)
