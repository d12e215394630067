"""The pages of the documentation, and the code in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.source import ROOT

DOCS = ROOT / "docs"
GENERATED = DOCS / "reference" / "conformance.md"
_FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", flags=re.M | re.S)
# The first line of a block says which file it is: `# shop/views.py`, `{# shop/order.html #}`.
_FILE = re.compile(r"(?:# |\{# )(?P<path>[\w./-]+\.\w+)(?P<end>, at the end)?(?: #\})?\n")


@dataclass(frozen=True)
class Block:
    """One block of code of a page; ``path`` is the file that it belongs to, if it says one."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def path(self) -> str | None:
        """The file that the block is, or is part of."""
        match = _FILE.match(self.text)
        return None if match is None else match["path"]

    @property
    def is_appended(self) -> bool:
        """Whether it goes to the end of a file that is there already."""
        match = _FILE.match(self.text)
        return match is not None and match["end"] is not None

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """Every page that somebody wrote, the README among them."""
    written = [page for page in sorted(DOCS.rglob("*.md")) if "_build" not in page.parts]
    return [ROOT / "README.md", *(page for page in written if page != GENERATED)]


def name_of(page: Path) -> str:
    """The page's name in a test's id."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, *languages: str) -> Iterator[Block]:
    """The blocks of a page, in order; of certain languages where some are named."""
    text = page.read_text("utf-8")
    for match in _FENCE.finditer(text):
        if not languages or match[1] in languages:
            line = text.count("\n", 0, match.start()) + 1
            yield Block(page, line, match[1], match[2])


def prose(page: Path) -> str:
    """A page without its code."""
    return _FENCE.sub("", page.read_text("utf-8"))


def lines_of_prose(page: Path) -> Iterator[tuple[int, str]]:
    """The lines of a page without its code, with their numbers."""
    text = _FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), page.read_text("utf-8"))
    return ((number, line) for number, line in enumerate(text.splitlines(), 1) if line)


def headings(page: Path, level: int = 2) -> dict[str, str]:
    """What stands under each heading of a level, by the heading."""
    marks = "#" * level
    text = _FENCE.sub(_indented, page.read_text("utf-8"))
    parts = re.split(rf"^{marks} (.+)$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _indented(match: re.Match[str]) -> str:
    # A comment in code is no heading.
    return re.sub("^#", " #", match[0], flags=re.M)
