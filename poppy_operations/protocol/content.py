"""The canonical text of a request's content: one text for one meaning (6, check 3)."""

from __future__ import annotations

import json
import logging
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Any
from uuid import UUID

from poppy_operations.protocol.plain_json import (
    DEEPEST_CONTENT,
    Resolve,
    Unreadable,
    integer,
    plain_json,
    string,
)

logger = logging.getLogger("poppy_operations")

# As floats are written: up to this many digits before the point, and few zeros after it.
DIGITS = 16
SMALLEST_POINT = -4


# In the text that Python gives an object without a text of its own: another one each time.
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")


@dataclass(frozen=True)
class Encoded:
    """Content whose text is known already."""

    text: str


@dataclass(frozen=True)
class FileContent:
    """What an upload is compared by."""

    name: str | None
    kind: str | None
    size: int | None
    digest: str


def canonical_content(value: object, resolve: Resolve | None = None) -> str:
    """Return the canonical JSON text of a request's content, in ASCII.

    Numbers are compared by value (``1``, ``1.0`` and ``Decimal("1.00")`` are one), a string is
    never a number, objects have no order and arrays do. Sets are arrays in a fixed order. A value
    that JSON does not know becomes an object with one member whose name begins with ``$``. If a
    string begins with ``$``, it gets a second one, so that nothing from outside can pass for such
    an object. A row of a database is compared by its primary key.

    It never raises. If content cannot be read to its end (nested in itself, over a hundred deep, an
    open file, an object whose text fails or is another one each time), it gets a text of its own:
    it equals nothing, so no approval of other content covers it.

    If the value is no plain JSON, ``resolve`` is first called with it: it puts objects that this
    module knows in the place of objects of the site's framework.
    """
    try:
        return stable_content(value, resolve)
    except Exception as error:  # noqa: BLE001 - objects of a form or serializer may raise anything
        # The type only: a message could repeat the content.
        logger.warning("Content cannot be compared: %s", type(error).__name__)
        return _tagged("unreadable", json.dumps(secrets.token_hex()))


def is_unreadable(text: str) -> bool:
    """Whether a canonical text has a part that cannot be compared."""
    return '"$unreadable":' in text


def stable_content(value: object, resolve: Resolve | None = None) -> str:
    """Return the canonical text, the same one each time.

    Raises whatever the content raises, and ``Unreadable`` if it cannot be compared.
    """
    text = plain_json(value)
    if text is None:
        text = _content(value if resolve is None else resolve(value), 0)
    return text


def _content(value: object, depth: int) -> str:
    encode = _BY_TYPE.get(type(value))
    if encode is None:
        encode = next((encode for kind, encode in _BY_KIND if isinstance(value, kind)), _any_object)
    return encode(value, depth)


def _tagged(kind: str, text: str) -> str:
    return f'{{"${kind}":{text}}}'


def _encoded(value: Encoded, _depth: int) -> str:
    return value.text


def _file(value: FileContent, _depth: int) -> str:
    return _tagged("file", _array((value.name, value.kind, value.size, value.digest), 0))


def _string(value: str, _depth: int) -> str:
    return string(value)


def _none(_value: None, _depth: int) -> str:
    return "null"


def _boolean(value: bool, _depth: int) -> str:  # noqa: FBT001 - one signature for all encoders
    return "true" if value else "false"


def _integer(value: int, _depth: int) -> str:
    number = int.__index__(value)
    # Python writes no more than 4300 digits at once; Decimal has no such limit.
    digits = str(Decimal(number)) if number.bit_length() > 10_000 else str(number)
    return integer(digits)


def _float(value: float, _depth: int) -> str:
    # The shortest text that reads back as this float: what JSON says, not its binary neighbour.
    return _decimal_number(Decimal(float.__repr__(value)))


def _decimal(value: Decimal, _depth: int) -> str:
    return _decimal_number(value)


def _decimal_number(value: Decimal) -> str:
    if value.is_nan():
        return "NaN"
    if value.is_infinite():
        return "-Infinity" if value.is_signed() else "Infinity"
    sign, digits, exponent = value.as_tuple()
    number = "".join(map(str, digits)).lstrip("0")
    significant = number.rstrip("0")
    if not significant:
        return "0"
    return "-" * sign + _number(significant, int(exponent) + len(number) - len(significant))


def _number(digits: str, exponent: int) -> str:
    """Return the one spelling of a number: an integer's, or the one of the shortest float.

    ``digits`` neither begin nor end with a zero.
    """
    point = len(digits) + exponent
    if exponent >= 0:
        is_large = point > DIGITS
        return f"{digits}e{exponent}" if is_large and exponent else digits + "0" * exponent
    if point > 0:
        return f"{digits[:point]}.{digits[point:]}"
    if point > SMALLEST_POINT:
        return f"0.{'0' * -point}{digits}"
    decimals = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{decimals}e-{1 - point:02}"


def _mapping(value: Mapping[object, object], depth: int) -> str:
    _check(depth)
    # If a form's field has several values, items() gives only the last one.
    lists = getattr(value, "lists", None)
    items: Iterable[tuple[object, object]] = lists() if callable(lists) else value.items()
    members = sorted((*_key(key), _content(member, depth + 1)) for key, member in items)
    return "{" + ",".join(f"{key}:{member}" for _, key, member in members) + "}"


def _key(key: object) -> tuple[str, str]:
    """What a key is sorted by, and its text, with a single ``$`` only if the key is no string."""
    if isinstance(key, str):
        return str.__str__(key), string(key)
    text = f"${_content(key, 0)}"
    return text, json.dumps(text)


def _array(value: Iterable[object], depth: int) -> str:
    _check(depth)
    return "[" + ",".join([_content(member, depth + 1) for member in value]) + "]"


def _set(value: Iterable[object], depth: int) -> str:
    _check(depth)
    return "[" + ",".join(sorted(_content(member, depth + 1) for member in value)) + "]"


def _check(depth: int) -> None:
    if depth >= DEEPEST_CONTENT:
        raise Unreadable


def _typed(kind: str, text: Callable[[Any], str], value: object, _depth: int) -> str:
    return _tagged(kind, json.dumps(text(value)))


def _enum(value: Enum, depth: int) -> str:
    return _tagged("enum", f"[{json.dumps(_name(value))},{_content(value.value, depth + 1)}]")


def _any_object(value: object, depth: int) -> str:
    if hasattr(value, "read") or isinstance(value, Iterator):
        # Reading it would use it up, and its text says nothing about what is in it.
        raise Unreadable
    name = json.dumps(_name(value))
    if hasattr(value, "pk"):
        return _tagged("row", f"[{name},{_content(_primary_key(value.pk), depth + 1)}]")
    if isinstance(value, Iterable):
        # The text of a QuerySet shows the first few only.
        return _tagged("object", f"[{name},{_array(value, depth)}]")
    return _tagged("object", f"[{name},{string(_own_text(value))}]")


def _own_text(value: object) -> str:
    kind = type(value)
    if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:
        raise Unreadable
    text = str(value)
    # The address of a function, or one that an object shows of an object within it.
    if _ADDRESS.search(text):
        raise Unreadable
    return text


def _primary_key(key: object) -> object:
    # A row is compared by its key, since two rows may have the same text. If it has none, it is
    # no row.
    if key is None:
        raise Unreadable
    return key


def _name(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _moment(value: datetime) -> str:
    # One moment has one text, whatever its time zone. A naive datetime is no moment.
    offset = value.utcoffset()
    if offset is None:
        return value.isoformat()
    return f"{value.replace(tzinfo=None) - offset}Z"


# In this order: a bool is an int, a datetime is a date, and many an Enum is a str or an int.
_BY_KIND: tuple[tuple[type, Callable[[Any, int], str]], ...] = (
    (Encoded, _encoded),
    (FileContent, _file),
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
# Almost everything in a request is of exactly one of these types, and needs no search.
_BY_TYPE: dict[type, Callable[[Any, int], str]] = {**dict(_BY_KIND), dict: _mapping}
