"""The catalogues of translations: whole, compiled, of now, and in use on the pages."""

from __future__ import annotations

import ast
import gettext
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.test import RequestFactory
from django.utils import translation

from poppy_operations.gate.answers import ApprovalRequired, PlainlyPerformed, Undeclared
from poppy_operations.protocol.interfaces import WEBSITE
from poppy_operations.protocol.operation import ReturnedOperation
from poppy_operations.responses import respond
from tests.needed import missing
from tests.pages import Page
from tests.source import PACKAGE

LANGUAGES = ("de", "es", "fr")
ENTRY = re.compile(r'^(msgid|msgid_plural|msgstr(?:\[\d\])?) ((?:".*"\n)+)', re.MULTILINE)
HELD = re.compile(r"%\(\w+\)[sd]|</?\w+>|manage\.py \w+")
EACH = pytest.mark.parametrize("language", LANGUAGES)


@dataclass(frozen=True)
class Message:
    """A message of a catalogue, its plural and what they are in the language."""

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    is_fuzzy: bool


def messages(catalogue: Path) -> dict[str, Message]:
    """Read a catalogue, its header left out."""
    read = {}
    for block in catalogue.read_text("utf-8").split("\n\n")[1:]:
        parts = [(name, _text(lines)) for name, lines in ENTRY.findall(f"{block}\n")]
        ids = tuple(text for name, text in parts if name.startswith("msgid"))
        texts = tuple(text for name, text in parts if name.startswith("msgstr"))
        read[ids[0]] = Message(ids, texts, "#, fuzzy" in block)
    return read


def _text(lines: str) -> str:
    return "".join(ast.literal_eval(line) for line in lines.splitlines())


def catalogue(language: str, package: Path = PACKAGE) -> Path:
    return package / "locale" / language / "LC_MESSAGES" / "django.po"


def test_the_languages_are_those_that_are_promised() -> None:
    assert sorted(one.name for one in (PACKAGE / "locale").iterdir()) == list(LANGUAGES)


@EACH
def test_everything_is_translated_with_all_that_it_holds(language: str) -> None:
    for name, message in messages(catalogue(language)).items():
        assert all(message.texts), name
        assert not message.is_fuzzy, name
        for original, text in zip(message.ids, message.texts, strict=True):
            assert sorted(HELD.findall(text)) == sorted(HELD.findall(original)), name


@EACH
def test_what_is_compiled_is_what_is_written(language: str) -> None:
    source = catalogue(language)
    with source.with_suffix(".mo").open("rb") as file:
        compiled: Any = gettext.GNUTranslations(file)
    for name, message in messages(source).items():
        if len(message.ids) == 1:
            assert compiled.gettext(name) == message.texts[0], "make messages"
        else:
            found = tuple(compiled.ngettext(*message.ids, count) for count in (1, 2))
            assert found == message.texts, "make messages"


@pytest.mark.slow
def test_the_catalogues_hold_what_the_package_says(tmp_path: Path) -> None:
    if shutil.which("xgettext") is None:
        missing("gettext is not installed.")
    copy = tmp_path / "poppy_operations"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    languages = [argument for language in LANGUAGES for argument in ("-l", language)]
    command = [sys.executable, "-m", "django", "makemessages", "--no-obsolete", *languages]
    environment = {k: v for k, v in os.environ.items() if k != "DJANGO_SETTINGS_MODULE"}
    subprocess.run(command, cwd=copy, env=environment, check=True, capture_output=True)

    for language in LANGUAGES:
        now = messages(catalogue(language, copy)).keys()
        assert messages(catalogue(language)).keys() == now, "make messages"


OPERATION = ReturnedOperation("buy_1", "1-a", "{}", 1791487200, None)
WAITING = ApprovalRequired(OPERATION, sid="ses_1", ref="r", watch="watched")


@EACH
@pytest.mark.parametrize("answer", [WAITING, PlainlyPerformed("buy_1"), Undeclared()])
def test_a_page_speaks_the_browsers_language(language: str, answer: Any) -> None:
    def shown(spoken: str) -> Page:
        with translation.override(spoken):
            request = RequestFactory().post("/buy/", "a=1", "application/x-www-form-urlencoded")
            return Page.of(respond(answer, request, WEBSITE))

    page, english = shown(language), shown("en")
    assert page.first("html")["lang"] == language
    assert page.title != english.title
    assert page.text != english.text
    left = {one.strip() for one in english.text.split(".")} & {
        one.strip() for one in page.text.split(".")
    }
    assert left <= {""}
