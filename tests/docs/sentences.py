"""Sentences of the documentation, which of them promise something, and the tests that show it.

A comment after a sentence, on its line, names the tests: ``<!-- shown by: test_one, test_two -->``.
It names functions, so that tests can move from file to file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from tests.docs.pages import DOCS, headings, lines_of_prose, pages
from tests.source import ROOT

# What promises is the README and the explanation; the other pages tell what there is.
PROMISING = [ROOT / "README.md", *sorted((DOCS / "explanation").glob("*.md"))]
STRONG = re.compile(
    r"\b(always|at most|cannot|every|everybody|exactly|never|nobody|none|nothing|only)\b",
    flags=re.I,
)
_SHOWN_BY = re.compile(r"<!-- shown by: (.*?) -->")
_COMMENT = re.compile(r" ?<!--.*?-->")
_LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")
# A comment belongs to the sentence before it.
_END = re.compile(r"(?<=[.!?]) +(?!<!--)|(?<=-->) +")
_NO_SENTENCE = re.compile(r"#|!\[")


@dataclass(frozen=True)
class Sentence:
    """A sentence, or a row of a table."""

    page: Path
    line: int
    text: str
    shown_by: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}: {self.text}"


def sentences(page: Path) -> Iterator[Sentence]:
    """The sentences of a page; headings and pictures are none."""
    for number, line in _lines(page):
        for part in [line] if line.startswith("|") else _END.split(line):
            named = [name for names in _SHOWN_BY.findall(part) for name in names.split(", ")]
            yield Sentence(page, number, _COMMENT.sub("", part), tuple(named))


def _lines(page: Path) -> Iterator[tuple[int, str]]:
    lines = [*lines_of_prose(page), (0, "")]
    for (number, line), (_, following) in pairwise(lines):
        is_head = line.startswith("|") and following.startswith("| ---")
        if not is_head and not line.startswith("| ---") and not _NO_SENTENCE.match(line):
            yield number, line


@cache
def titles() -> frozenset[str]:
    """The titles of all pages: a sentence that links to one says nothing of its own by it."""
    return frozenset(title for page in pages() for title in headings(page, level=1))


def is_strong(sentence: Sentence) -> bool:
    """Whether a sentence promises something."""
    text = _LINK.sub(lambda link: "" if link[1] in titles() else link[1], sentence.text)
    return STRONG.search(text) is not None
