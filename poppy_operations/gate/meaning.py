"""The text that stands for a value which the site made of a request, the same each time."""

from __future__ import annotations

from typing import Any, Final, final

from poppy_operations.gate.uploads import resolved
from poppy_operations.protocol.content import Encoded, canonical_content, stable_content


@final
class Missing:
    """Stands for no value: none was made of what was sent, or none can be found."""


MISSING: Final = Missing()
_CONTAINERS = (str, bytes, list, tuple, set, frozenset, dict)
_PLAIN_TYPES = frozenset({str, int, bool})


def meant(sent: Any, value: Any) -> Any:
    """What stands for a value in a canonical text; ``MISSING`` if it is compared as it was sent.

    It is compared as sent if it has another text each time, or if something was sent and nothing
    was made of it: a form may drop a field after it has looked at it.
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
    """What stands for a value as it was sent, among values that the site made of others."""
    return Encoded(f'{{"$sent":{canonical_content(sent, resolved)}}}')


def is_nothing(value: Any) -> bool:
    """Whether a value is empty: nothing was sent, or a field made nothing of it."""
    if isinstance(value, str):
        return not value.strip()
    if isinstance(value, list):
        return all(map(is_nothing, value))
    return value is None or (isinstance(value, _CONTAINERS) and not value)
