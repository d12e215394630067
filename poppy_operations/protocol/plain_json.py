"""The canonical text of plain JSON values, written fast.

Bodies of several megabytes come from outside. Written value by value in Python, they would cost
seconds; here they cost about as much as parsing. ``content`` writes the same text for a value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import chain, islice

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
_POINT_ZERO = re.compile(r"\.0(?=[,\]}])")
_MINUS_ZERO = re.compile(r"-0(?=[,\]}])")
_LARGE_FLOAT = re.compile(r"(\d)(?:\.(\d+))?e\+(\d+)")
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
    spelled = _are_numbers_spelled_alike(value)
    if spelled is None:
        return None
    try:
        text = _WRITER.encode(value)
    except ValueError:  # An integer of more digits than Python writes at once.
        return None
    return marked(text if spelled else _spelled_alike(text))


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


def _are_numbers_spelled_alike(value: object) -> bool | None:
    """Whether ``json`` writes equal numbers as equal texts; ``None`` if the value is not JSON.

    Level by level, so that each step looks at many values at once.
    """
    level, alike, depth = [value], True, 0
    while True:
        kinds = set(map(type, level))
        if not kinds <= _JSON:
            return None
        alike = alike and not _has_other_spellings(level, kinds)
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
    return alike


def _has_other_spellings(level: list[object], kinds: set[type]) -> bool:
    if float in kinds and any(float.is_integer(one) for one in level if type(one) is float):
        return True
    if int not in kinds:
        return False
    integers = [one for one in level if type(one) is int]
    return max(integers) >= LARGE or min(integers) <= -LARGE


def _spelled_alike(text: str) -> str:
    """Write each number of a JSON text in its one spelling."""
    # Without the escaped ones, each quotation mark begins or ends a string.
    simple = text.replace("\\\\", "\\u005c").replace('\\"', "\\u0022")
    parts = simple.split('"')
    between = "\n".join(parts[0::2]) + ","
    between = _MINUS_ZERO.sub("0", _POINT_ZERO.sub("", between))
    between = _LARGE_INTEGER.sub(lambda found: integer(found[0]), between)
    between = _LARGE_FLOAT.sub(_large_float, between)
    parts[0::2] = between[:-1].split("\n")
    return '"'.join(parts).replace("\\u0022", '\\"').replace("\\u005c", "\\\\")


def _large_float(found: re.Match[str]) -> str:
    decimals = found[2] or ""
    exponent = int(found[3]) - len(decimals)
    return f"{found[1]}{decimals}e{exponent}" if exponent else f"{found[1]}{decimals}"
