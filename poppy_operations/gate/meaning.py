"""What was made of what a request sent: a value that has a text, the same one each time."""

from __future__ import annotations

from typing import Any, Final, final

from poppy_operations.gate.uploads import resolved
from poppy_operations.protocol.content import Encoded, canonical_content, stable_content


@final
class Missing:
    """Nothing was made of it, or nothing that can be found."""


MISSING: Final = Missing()
_CONTAINERS = (str, bytes, list, tuple, set, frozenset, dict)
_PLAIN_TYPES = frozenset({str, int, bool})


def meant(sent: Any, value: Any) -> Any:
    """What stands for a value in a canonical text, or ``MISSING`` if it is compared as sent.

    So it is with what has another text each time, and with what was sent and came to nothing: that
    is how a form drops a field which it has looked at.
    """
    if type(value) in _PLAIN_TYPES and value != "":
        return value
    if is_nothing(value) and not is_nothing(sent):
        return MISSING
    try:
        return Encoded(stable_content(value, resolved))
    except Exception:  # noqa: BLE001  objects of a form or serializer may raise anything
        return MISSING


def sent_values(sent: Any) -> Encoded:
    """What stands for something sent among values that were made of others."""
    return Encoded(f'{{"$sent":{canonical_content(sent, resolved)}}}')


def is_nothing(value: Any) -> bool:
    """Whether a value is what a field makes of nothing, or nothing was sent."""
    if isinstance(value, str):
        return not value.strip()
    if isinstance(value, list):
        return all(map(is_nothing, value))
    return value is None or (isinstance(value, _CONTAINERS) and not value)
