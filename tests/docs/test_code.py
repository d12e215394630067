"""Every block of code on every page runs, parses, or names a command that exists."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class
from django.template import engines

from tests.docs.pages import DOCS, Block, blocks, name_of, pages, prose
from tests.docs.stand_in import Shop, made_of

# It is typed into an empty folder, by a test of its own.
TUTORIAL = DOCS / "tutorial.md"
LANGUAGES = {"console", "html", "http", "js", "json", "python", "text", "{include}", "{toctree}"}
WRITTEN = pages()


def with_code(*languages: str) -> list[Path]:
    return [page for page in WRITTEN if page != TUTORIAL and any(blocks(page, *languages))]


def is_run(page: Path) -> bool:
    """Whether the page's Python is for the shop of these tests.

    Pages on APIs have their own, and tests of other packages run what needs them.
    """
    return not page.name.startswith("api-") and page.name != "with-other-packages.md"


@pytest.mark.parametrize("page", list(filter(is_run, with_code("python"))), ids=name_of)
def test_the_python_of_a_page_runs(page: Path) -> None:
    with made_of(page, Shop()) as modules:
        assert modules


@pytest.mark.parametrize("page", with_code("html"), ids=name_of)
def test_the_templates_of_a_page_are_templates(page: Path) -> None:
    for block in blocks(page, "html"):
        engines["django"].from_string(block.text)


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_every_block_of_a_page_has_a_language(page: Path) -> None:
    fences = re.findall(r"^```(.*)$", page.read_text("utf-8"), flags=re.M)
    assert len(fences) % 2 == 0
    assert {fence.split()[0] if fence else "" for fence in fences[::2]} <= LANGUAGES
    assert set(fences[1::2]) <= {""}


def managed(page: Path) -> Iterator[list[str]]:
    """The arguments of every ``manage.py`` command that a page shows or mentions."""
    shown = "".join(block.text for block in blocks(page, "console"))
    for line in re.findall(r"^\$ .*?manage\.py (.+)$", shown, flags=re.M):
        yield shlex.split(line.partition(" #")[0])
    crontab = "".join(block.text for block in blocks(page, "text"))
    for line in re.findall(r"manage\.py ([^>|)\n]+)", crontab):
        yield shlex.split(line)
    for mentioned in re.findall(r"`manage\.py ([^`]+)`", prose(page)):
        yield shlex.split(re.sub(r"[\[\]]", "", mentioned))


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_the_commands_of_a_page_exist_and_take_what_they_are_given(page: Path) -> None:
    for name, *arguments in managed(page):
        app = get_commands().get(name)
        assert isinstance(app, str), name
        parser = load_command_class(app, name).create_parser("manage.py", name)
        if name.startswith("poppy_") and len(arguments) != 1:
            parser.parse_args(arguments)


def test_a_block_says_which_file_it_is() -> None:
    block = Block(TUTORIAL, 1, "python", "# shop/models.py\nx = 1\n")
    assert (block.path, block.is_appended) == ("shop/models.py", False)
    added = Block(TUTORIAL, 1, "python", "# mysite/settings.py, at the end\nx = 1\n")
    assert (added.path, added.is_appended) == ("mysite/settings.py", True)
    assert Block(TUTORIAL, 1, "python", "# a comment\n").path is None
