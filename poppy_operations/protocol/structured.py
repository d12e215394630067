"""Structured fields (RFC 9651): the headers ``Poppy-Extensions``, ``-Approval`` and ``-Operation``.

The only module that knows the library that reads and writes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import http_sf

from poppy_operations.protocol import EXTENSION, VERSION
from poppy_operations.protocol.ids import is_ref

USUAL_LENGTH = 200


@dataclass(frozen=True)
class InnerList:
    """An Inner List, without its parameters."""

    items: tuple[object, ...]


def parse_dictionary(value: str) -> dict[str, object] | None:
    """Read a Dictionary; ``None`` if the field is none: it counts as absent (RFC 9651, 4.2).

    If a key comes twice, the last value counts. Each type of value has a Python type of its
    own: String ``str``, Integer ``int``, Decimal ``decimal.Decimal``, Boolean ``bool``, Byte
    Sequence ``bytes``, Date ``datetime``, Token and Display String types that are no ``str``, and
    :class:`InnerList`. Parameters are left out.
    """
    parsed = _parse(value, "dictionary")
    if parsed is None:
        return None
    members = cast("dict[str, tuple[object, object]]", parsed)
    return {key: _bare_value(bare) for key, (bare, _parameters) in members.items()}


def string_member(members: Mapping[str, object], key: str) -> str | None:
    """Return a member that is a String; ``None`` if it is absent or of another type."""
    value = members.get(key)
    return value if isinstance(value, str) else None


def declares_operations(value: str | None) -> bool:
    """Whether a ``Poppy-Extensions`` field declares version 3 of this extension (2).

    It is a List of Strings, each with its version in the String parameter ``v``.
    """
    if value is None:
        return False
    # An agent sends the same text each time; what nobody would send is not kept.
    return _declares_known(value) if len(value) <= USUAL_LENGTH else _declares(value)


def _declares(value: str) -> bool:
    parsed = _parse(value, "list")
    if parsed is None:
        return False
    items = cast("list[tuple[object, Mapping[str, object]]]", parsed)
    # In Python a Token or a Display String equals its text, but only a String is a ``str``.
    return any(
        isinstance(item, str) and item == EXTENSION and string_member(parameters, "v") == VERSION
        for item, parameters in items
    )


_declares_known = lru_cache(maxsize=64)(_declares)


def poppy_operation(sid: str, ref: str) -> str:
    """Return the value of ``Poppy-Operation`` (4, "Websites").

    Raises:
        ValueError: ``sid`` is not printable ASCII, or ``ref`` is no reference.
    """
    if not is_ref(ref):
        message = "A reference is 1 to 2048 of A-Z a-z 0-9 - _ and the full stop."
        raise ValueError(message)
    return http_sf.ser({"sid": sid, "ref": ref})


def poppy_approval(approval: Mapping[str, str | int]) -> str:
    """Return the value of ``Poppy-Approval`` (6, "APIs").

    Args:
        approval: the members of an approval in the order in which they are written, such as those
            of ``ApprovalStatement.members()``.

    Raises:
        ValueError: a member has no form in the header, such as text beyond ASCII.
    """
    return http_sf.ser(dict(approval))


def _parse(value: str, kind: str) -> http_sf.StructuredType | None:
    # Every fault is a ValueError, characters beyond ASCII included.
    try:
        return http_sf.parse(value.encode("ascii"), tltype=kind)
    except ValueError:
        return None


def _bare_value(bare: object) -> object:
    if isinstance(bare, list):
        return InnerList(tuple(_bare_value(item) for item, _parameters in bare))
    return bare
