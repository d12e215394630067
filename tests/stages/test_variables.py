"""What `.ci/run` and make tell the tests is listened to."""

from __future__ import annotations

import re

from tests.source import ROOT

VARIABLE = re.compile(r"\bPOPPY_(?!OPERATIONS\b)[A-Z_]+\b")
READ = re.compile(r'"(POPPY_[A-Z_]+)"')
TOLD = (".ci/run", "Makefile", "CONTRIBUTING.md")
LISTENING = ("tests", "benchmarks", "example_project")


def test_a_variable_that_is_set_is_read_somewhere() -> None:
    sources = [path for folder in LISTENING for path in (ROOT / folder).rglob("*.py")]
    read = {name for path in sources for name in READ.findall(path.read_text("utf-8"))}
    told = {name for path in TOLD for name in VARIABLE.findall((ROOT / path).read_text("utf-8"))}
    assert told <= read
