"""The canonical text of plain JSON values, written fast.

Bodies of several megabytes come from outside. Written value by value in Python, they would cost
seconds; here they cost about as much as parsing. ``content`` writes the same text for a value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import chain, islice
from typing import Any

# A function that puts what JSON can hold in the place of an object that JSON does not know.
Resolve = Callable[[object], object]

DEEPEST_CONTENT = 100
# At one depth. If a value is nested in itself, there are ever more of them.
MOST_VALUES = 2_000_000
# Smaller floats are written with all of their digits, as integers are.
LARGE = 10**16

_WRITER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
_JSON = frozenset({dict, list, str, int, float, bool, type(None)})
_STRING = frozenset({str})
# In the text between strings, where each number is followed by one of these.
_AFTER_NUMBERS = ",]}"
_LARGE_FLOAT = re.compile(r"(\d)\.(\d+)e\+(\d+)")
_LARGE_INTEGER = re.compile(r"(?<![\d.])\d{17,}(?![\d.e])")


class Unreadable(ValueError):
    """Content that has no text of its own, or is nested deeper than anything with a meaning."""


def plain_json(value: object) -> str | None:
    """Return the canonical text of a value; ``None`` if no JSON parser could have returned it.

    Raises:
        Unreadable: the value is nested more than ``DEEPEST_CONTENT`` deep.
    """
    # Most members of a request are one of these.
    if type(value) is str:
        return string(value)
    if type(value) is int and -LARGE < value < LARGE:
        return str(value)
    has_large = _has_large_integers(value)
    if has_large is None:
        return None
    try:
        text = _WRITER.encode(value)
    except ValueError:  # An integer of more digits than Python writes at once.
        return None
    # Of the numbers, only floats have either of these. In a string they do no harm.
    if has_large or ".0" in text or "e+" in text:
        text = _spelled_alike(text, has_large=has_large)
    return marked(text)


def string(value: str) -> str:
    """Return the canonical text of a string."""
    return marked(json.dumps(str.__str__(value)))


def integer(digits: str) -> str:
    """Return the canonical text of an integer: if it is large, without the digits' last zeros."""
    significant = digits.rstrip("0")
    zeros = len(digits) - len(significant)
    is_large = len(digits.lstrip("-")) >= len(str(LARGE))
    return f"{significant}e{zeros}" if is_large and zeros else digits


def marked(text: str) -> str:
    """Give a second ``$`` to each string that begins with one, so that it passes for no tag."""
    return text.replace('"$', '"$$')


def _has_large_integers(value: object) -> bool | None:
    """Whether ``json`` may write integers with more digits than needed; ``None`` if no JSON.

    Level by level, so that each step looks at many values at once.
    """
    level, has_large, depth = [value], False, 0
    while True:
        kinds = set(map(type, level))
        if not kinds <= _JSON:
            return None
        has_large = has_large or (int in kinds and _is_any_large(level, kinds))
        if depth == DEEPEST_CONTENT or not kinds & {dict, list}:
            break
        objects = [value for value in level if type(value) is dict]
        if not set(map(type, chain.from_iterable(objects))) <= _STRING:
            return None
        arrays = [value for value in level if type(value) is list]
        members = chain(chain.from_iterable(map(dict.values, objects)), chain.from_iterable(arrays))
        level = list(islice(members, MOST_VALUES + 1))
        if len(level) > MOST_VALUES:
            return None
        depth += 1
    if depth == DEEPEST_CONTENT and kinds & {dict, list}:
        raise Unreadable
    return has_large


def _is_any_large(level: list[object], kinds: set[type]) -> bool:
    integers: list[Any] = level if len(kinds) == 1 else [one for one in level if type(one) is int]
    return bool(max(integers) >= LARGE or min(integers) <= -LARGE)


def _spelled_alike(text: str, *, has_large: bool) -> str:
    """Write each number of a JSON text in its one spelling."""
    if '"' not in text:
        return _numbers_alike(text, has_large=has_large)
    # Without the escaped ones, each quotation mark begins or ends a string.
    simple = text.replace("\\\\", "\\u005c").replace('\\"', "\\u0022")
    parts = simple.split('"')
    parts[0::2] = _numbers_alike("\n".join(parts[0::2]), has_large=has_large).split("\n")
    return '"'.join(parts).replace("\\u0022", '\\"').replace("\\u005c", "\\\\")


def _numbers_alike(between: str, *, has_large: bool) -> str:
    """The same for the text between strings."""
    between += ","
    for end in _AFTER_NUMBERS:
        between = between.replace(f".0{end}", end)
    if "-0" in between:
        for end in _AFTER_NUMBERS:
            between = between.replace(f"-0{end}", f"0{end}")
    if has_large:
        between = _LARGE_INTEGER.sub(lambda found: integer(found[0]), between)
    if "e+" in between:
        between = _LARGE_FLOAT.sub(_large_float, between).replace("e+", "e")
    return between[:-1]


def _large_float(found: re.Match[str]) -> str:
    exponent = int(found[3]) - len(found[2])
    return f"{found[1]}{found[2]}e{exponent}" if exponent else f"{found[1]}{found[2]}"
