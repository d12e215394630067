"""The how-to pages about APIs: their code is code, and what it imports from us is there."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to"
PAGES = sorted(HOW_TO.glob("api-*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_there_are_pages() -> None:
    assert len(PAGES) >= 6


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page_can_be_read_and_imports_what_there_is(page: Path) -> None:
    for block in BLOCK.findall(page.read_text("utf-8")):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("poppy_"):
                module = import_module(node.module or "")
                for name in node.names:
                    assert hasattr(module, name.name), (page.name, name.name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text("utf-8")):
        assert target.startswith("https://") or (page.parent / target.partition("#")[0]).exists()
