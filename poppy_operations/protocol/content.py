"""One text for the content of a request, by what it means (6, check 3)."""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Any
from uuid import UUID

logger = logging.getLogger("poppy_operations")

DEEPEST_CONTENT = 100


def canonical_content(value: object) -> str:
    """Return the canonical JSON text of a request's content, in ASCII.

    Numbers are compared by value (``1``, ``1.0`` and ``Decimal("1.00")`` are one), a string is
    never a number, objects have no order and arrays do. Sets are arrays in a fixed order. What
    JSON does not know is an object with one member that begins with ``$``; a key that begins so
    gets a second one, hence nothing from outside can pass for it. A row of a database is its
    primary key.

    It never raises. Content that cannot be read to its end (inside itself, over a hundred deep, an
    open file, an object whose text fails) gets a text of its own each time: it equals nothing, so
    no approval of other content covers it.
    """
    try:
        return _content(value, 0)
    except Exception as error:  # noqa: BLE001 - objects of a form or serializer may raise anything
        # The type only: a message could repeat the content.
        logger.warning("Content cannot be compared: %s", type(error).__name__)
        return _tagged("unreadable", json.dumps(secrets.token_hex()))


class _Unreadable(ValueError):
    """Content that has no text of its own, or is nested deeper than anything with a meaning."""


def _content(value: object, depth: int) -> str:
    encode = _BY_TYPE.get(type(value))
    if encode is None:
        encode = next((encode for kind, encode in _BY_KIND if isinstance(value, kind)), _object)
    return encode(value, depth)


def _tagged(kind: str, text: str) -> str:
    return f'{{"${kind}":{text}}}'


def _string(value: str, _depth: int) -> str:
    return json.dumps(str.__str__(value))


def _none(_value: None, _depth: int) -> str:
    return "null"


def _boolean(value: bool, _depth: int) -> str:  # noqa: FBT001 - one signature for all encoders
    return "true" if value else "false"


def _integer(value: int, _depth: int) -> str:
    number = int.__index__(value)
    # Python writes no more than 4300 digits at once; Decimal has no such limit.
    if number.bit_length() > 10_000:
        return _decimal_number(Decimal(number))
    return _number(str(number), 0)


def _float(value: float, _depth: int) -> str:
    # The shortest text that reads back as this float: what JSON says, not its binary neighbour.
    return _decimal_number(Decimal(float.__repr__(value)))


def _decimal(value: Decimal, _depth: int) -> str:
    return _decimal_number(value)


def _decimal_number(value: Decimal) -> str:
    if value.is_nan():
        return _tagged("number", '"nan"')
    if value.is_infinite():
        return _tagged("number", '"-inf"' if value.is_signed() else '"inf"')
    sign, digits, exponent = value.as_tuple()
    return _number("-" * sign + "".join(map(str, digits)), int(exponent))


def _number(text: str, exponent: int) -> str:
    """Return the one spelling of a number: an integer that ends in no zero, and an exponent."""
    significant = text.rstrip("0")
    if significant in ("", "-"):
        return "0"
    exponent += len(text) - len(significant)
    return f"{significant}e{exponent}" if exponent else significant


def _mapping(value: Mapping[object, object], depth: int) -> str:
    _check(depth)
    # Of a form's field with several values, items() gives only the last one.
    lists = getattr(value, "lists", None)
    items: Iterable[tuple[object, object]] = lists() if callable(lists) else value.items()
    members = sorted((_key(key), _content(member, depth + 1)) for key, member in items)
    return "{" + ",".join(f"{json.dumps(key)}:{member}" for key, member in members) + "}"


def _key(key: object) -> str:
    if isinstance(key, str):
        text = str.__str__(key)
        return f"${text}" if text.startswith("$") else text
    return f"${_content(key, 0)}"


def _array(value: Iterable[object], depth: int) -> str:
    _check(depth)
    return "[" + ",".join([_content(member, depth + 1) for member in value]) + "]"


def _set(value: Iterable[object], depth: int) -> str:
    _check(depth)
    return "[" + ",".join(sorted(_content(member, depth + 1) for member in value)) + "]"


def _check(depth: int) -> None:
    if depth >= DEEPEST_CONTENT:
        raise _Unreadable


def _typed(kind: str, text: Callable[[Any], str], value: object, _depth: int) -> str:
    return _tagged(kind, json.dumps(text(value)))


def _enum(value: Enum, depth: int) -> str:
    return _tagged("enum", f"[{json.dumps(_name(value))},{_content(value.value, depth + 1)}]")


def _object(value: object, depth: int) -> str:
    if hasattr(value, "read") or isinstance(value, Iterator):
        # Reading it would use it up, and its text says nothing about what is in it.
        raise _Unreadable
    name = json.dumps(_name(value))
    if hasattr(value, "pk"):
        return _tagged("row", f"[{name},{_content(_primary_key(value.pk), depth + 1)}]")
    if isinstance(value, Iterable):
        # The text of a QuerySet shows the first few only.
        return _tagged("object", f"[{name},{_array(value, depth)}]")
    return _tagged("object", f"[{name},{json.dumps(str(value))}]")


def _primary_key(key: object) -> object:
    # A row is what its key says; two rows may well have the same text. Without one it is no row.
    if key is None:
        raise _Unreadable
    return key


def _name(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _moment(value: datetime) -> str:
    # One moment is one text, in whatever time zone it is written; a naive one is no moment.
    offset = value.utcoffset()
    if offset is None:
        return value.isoformat()
    return f"{value.replace(tzinfo=None) - offset}Z"


# In this order: a bool is an int, a datetime is a date, and many an Enum is a str or an int.
_BY_KIND: tuple[tuple[type, Callable[[Any, int], str]], ...] = (
    (str, _string),
    (bool, _boolean),
    (int, _integer),
    (float, _float),
    (Decimal, _decimal),
    (type(None), _none),
    (Mapping, _mapping),
    (list, _array),
    (tuple, _array),
    (set, _set),
    (frozenset, _set),
    (datetime, partial(_typed, "datetime", _moment)),
    (date, partial(_typed, "date", date.isoformat)),
    (time, partial(_typed, "time", time.isoformat)),
    (timedelta, partial(_typed, "timedelta", str)),
    (UUID, partial(_typed, "uuid", str)),
    (bytes, partial(_typed, "bytes", bytes.hex)),
    (bytearray, partial(_typed, "bytes", bytearray.hex)),
    (memoryview, partial(_typed, "bytes", memoryview.hex)),
    (Enum, _enum),
)
# Almost everything in a request is exactly one of these; no search for them.
_BY_TYPE: dict[type, Callable[[Any, int], str]] = {**dict(_BY_KIND), dict: _mapping}
