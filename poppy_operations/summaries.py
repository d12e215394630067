"""What is wrong with a summary: what it leaves out of its terms, and what no agent shows (3).

A User decides from the summary alone, so it has to say what the terms say; and agents show links,
images and HTML in it as text. The summary is read leniently, as a person would read it: this is to
find the amount that was forgotten, not to prove that two texts say the same.
"""

from __future__ import annotations

import json
import logging
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from functools import cached_property
from itertools import chain
from typing import Literal

from django.conf import settings

from poppy_operations.declarations.terms import Terms

logger = logging.getLogger("poppy_operations")

MarkupKind = Literal["amount", "date", "name", "link", "image", "html", "character"]

_NOT_SHOWN: tuple[tuple[MarkupKind, re.Pattern[str]], ...] = (
    ("image", re.compile(r"!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])")),
    ("link", re.compile(r"(?<!!)\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])")),
    ("link", re.compile(r"^ {0,3}\[[^\]]+\]:\s*\S+", re.MULTILINE)),
    (
        "link",
        re.compile(r"(?<![(\w])(?:[a-z][a-z0-9+.-]*://|www\.|mailto:)[^\s)>]+", re.I),
    ),
    ("html", re.compile(r"</?[a-z][a-z0-9-]*(?:\s[^>]*)?/?>|<!--|<[!?]", re.I)),
)
# Scripts such as Persian and Hindi need the two joiners; line breaks are fine.
_FINE = frozenset("\n\u200c\u200d")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_WRITTEN = re.compile(r"\d+(?:[.,]\d+)*")
_GROUPED = re.compile(r"(?<!\d)\d{1,3}(?:[ '\u2019\u00a0\u202f]\d{3})+(?!\d)(?:[.,]\d+)?")
_GROUPS = re.compile(r"[ '\u2019\u00a0\u202f]")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(T.+)?")
_WORD = re.compile(r"[^\W_]+")
_CURRENCY = re.compile(r"[A-Z]{3}")
_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "INR": "₹", "KRW": "₩", "CAD": "$"}
_CENTS = 100
_NAMES: dict[MarkupKind, str] = {"link": "a link", "image": "an image", "html": "HTML"}


@dataclass(frozen=True)
class Finding:
    """One fault: its kind, its place in the terms (``""`` for the summary), and the text."""

    kind: MarkupKind
    where: str
    what: str

    def __str__(self) -> str:
        """Say it in a sentence."""
        if self.where:
            return f"The summary does not mention the {self.kind} {self.what} ({self.where})."
        if self.kind == "character":
            return f"The summary holds {self.what}, which nobody sees."
        return f"The summary holds {_NAMES[self.kind]}, which agents show as text: {self.what}"


def lint_summary(terms: Terms) -> list[Finding]:
    """Return the faults of the summary of ``terms``; an empty list if there is no summary.

    It should mention every amount, date and name among the values, and hold no link, image, HTML,
    control character or character that changes the direction of text. Amounts of zero, the number
    1, booleans and null are let pass: people say them in words. A date is mentioned if its day is,
    and a name if all of its words are, in any order: "Stormline Jacket (M)" mentions
    ``stormline-jacket-m``.

    Raises ``UnrepresentableTerms`` if a value has no exact form in JSON.
    """
    if terms.summary is None:
        return []
    summary = str(terms.summary)
    return [*_shown_otherwise(summary), *_left_out(json.loads(terms.text), _Said(summary))]


def warn_in_debug(action: str, terms: Terms) -> None:
    """Log what is wrong with a summary, while ``DEBUG`` is on."""
    if settings.DEBUG:
        for finding in lint_summary(terms):
            logger.warning("%s: %s", action, finding)


def _shown_otherwise(summary: str) -> Iterator[Finding]:
    for kind, pattern in _NOT_SHOWN:
        for match in pattern.finditer(summary):
            yield Finding(kind, "", match[0])
    for character in dict.fromkeys(summary):
        if unicodedata.category(character) in _UNSEEN and character not in _FINE:
            name = unicodedata.name(character, "a control character")
            yield Finding("character", "", f"U+{ord(character):04X} ({name})")


def _left_out(value: object, said: _Said, where: str = "", scale: int = 1) -> Iterator[Finding]:
    """``scale``: an integer beside a currency may count its cents."""
    match value:
        case dict():
            yield from _members_left_out(value, said, where)
        case list():
            for index, inner in enumerate(value):
                yield from _left_out(inner, said, f"{where}[{index}]", scale)
        case str():
            kind = _kind_left_out(value, said)
            if kind is not None:
                yield Finding(kind, where, value)
        case int() if value not in {-1, 0, 1}:  # True is 1.
            if not {Decimal(abs(value)), Decimal(abs(value)) / scale} & said.numbers:
                yield Finding("amount", where, str(value))


def _members_left_out(members: dict[str, object], said: _Said, where: str) -> Iterator[Finding]:
    is_free = "amount" in members and _is_nothing(members["amount"])
    scale = _CENTS if "currency" in members else 1
    for key, inner in members.items():
        if not (is_free and key == "currency"):
            yield from _left_out(inner, said, f"{where}.{key}".lstrip("."), scale)


def _kind_left_out(text: str, said: _Said) -> MarkupKind | None:
    """The kind of a text that the summary does not mention; ``None`` if it does."""
    if _NUMBER.fullmatch(text):
        is_said = _is_nothing(text) or abs(Decimal(text)) in said.numbers
        return None if is_said else "amount"
    if said.has(text):
        return None
    if _DATE.fullmatch(text):
        return None if _days(text) & said.numbers else "date"
    if _CURRENCY.fullmatch(text) and said.has(_SIGNS.get(text, text)):
        return None
    return None if said.has_words_of(text) else "name"


def _is_nothing(amount: object) -> bool:
    try:
        return Decimal(str(amount)) == 0
    except InvalidOperation:
        return False


def _days(text: str) -> set[Decimal]:
    """The day of the month; for a moment also the days beside it, as in other time zones."""
    try:
        day = datetime.fromisoformat(text).toordinal()
        shifts = (-1, 0, 1) if "T" in text else (0,)
        return {Decimal(date.fromordinal(day + shift).day) for shift in shifts}
    except (ValueError, OverflowError):
        return set()


class _Said:
    """What a summary says, as it can be looked for."""

    def __init__(self, summary: str) -> None:
        self._folded = summary.casefold()

    def has(self, text: str) -> bool:
        """Whether the summary holds the text itself; a word must be no part of another."""
        found = re.escape(text.casefold())
        if _WORD.search(text):
            found = rf"(?<!\w){found}(?!\w)"
        return re.search(found, self._folded) is not None

    def has_words_of(self, text: str) -> bool:
        """Whether the summary holds each word of the text."""
        return set(_WORD.findall(text.casefold())) <= self._words

    @cached_property
    def _words(self) -> set[str]:
        return set(_WORD.findall(self._folded))

    @cached_property
    def numbers(self) -> set[Decimal]:
        """Every number, in each way that it can be read."""
        written = [match[0] for match in _WRITTEN.finditer(self._folded)]
        written += [_GROUPS.sub("", match[0]) for match in _GROUPED.finditer(self._folded)]
        return set(chain.from_iterable(map(_readings, written)))


def _readings(written: str) -> Iterator[Decimal]:
    """``1,500`` is one thousand five hundred, or one and a half."""
    for thousands, decimal in ((",", "."), (".", ",")):
        plain = written.replace(thousands, "").replace(decimal, ".")
        if plain.count(".") <= 1:
            yield Decimal(plain)
