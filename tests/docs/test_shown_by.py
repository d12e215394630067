"""What README and explanation promise names the tests that show it, and these exist."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.docs.pages import name_of, pages
from tests.docs.sentences import PROMISING, Sentence, is_strong, sentences, titles
from tests.source import ROOT

# The sentences of this page are the rows of its tables, and each of them promises something.
SURVIVALS = ROOT / "docs" / "explanation" / "what-survives-what.md"


@pytest.fixture(scope="module")
def tests() -> set[str]:
    """The names of all tests, wherever they are."""
    return {
        node.name
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    }


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_every_test_that_a_page_names_exists(page: Path, tests: set[str]) -> None:
    for sentence in sentences(page):
        assert set(sentence.shown_by) <= tests, str(sentence)


@pytest.mark.parametrize("page", PROMISING, ids=name_of)
def test_every_strong_sentence_names_the_tests_that_show_it(page: Path) -> None:
    bare = [str(one) for one in sentences(page) if is_strong(one) and not one.shown_by]
    assert not bare, "weaken these, or name a test as `tests/docs/sentences.py` says: " + "\n".join(
        bare
    )


def test_every_row_of_what_survives_what_names_the_tests_that_show_it() -> None:
    rows = [one for one in sentences(SURVIVALS) if one.text.startswith("|")]
    assert len(rows) > 30
    assert not [str(row) for row in rows if not row.shown_by]


def test_a_comment_belongs_to_the_sentence_before_it(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Never a sentence\n"
        "It never ends. <!-- shown by: test_a, test_b --> It may. Only then. <!-- other -->\n"
        "```python\nnothing = None\n```\n"
        "| at once | result |\n| --- | --- |\n| two | one. Only one. <!-- shown by: test_c --> |\n"
    )
    assert list(sentences(page)) == [
        Sentence(page, 2, "It never ends.", ("test_a", "test_b")),
        Sentence(page, 2, "It may."),
        Sentence(page, 2, "Only then."),
        Sentence(page, 8, "| two | one. Only one. |", ("test_c",)),
    ]


@pytest.mark.parametrize(
    ("text", "strong"),
    [
        ("It never ends.", True),
        ("ONLY one of them.", True),
        ("At most two.", True),
        ("See [How nothing works](nothing.md).", True),
        ("See [At most once](at-most-once.md).", False),
        ("Nonetheless it may.", False),
    ],
)
def test_a_sentence_with_a_strong_word_is_strong(text: str, strong: bool) -> None:
    assert "At most once" in titles()
    assert is_strong(Sentence(SURVIVALS, 1, text)) is strong
