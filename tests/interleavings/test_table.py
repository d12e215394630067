"""The table of interleavings names tests that exist."""

from __future__ import annotations

import re

import tests.interleavings
from tests.source import ROOT


def test_every_test_of_the_table_exists() -> None:
    files = list((ROOT / "tests").rglob("test_*.py"))
    defined = set(re.findall(r"def (test_\w+)\(", "\n".join(file.read_text() for file in files)))
    named = set(re.findall(r"test_\w+(?:\.py)?", tests.interleavings.__doc__ or ""))
    assert len(named) > 20
    assert named <= defined | {file.name for file in files}
