"""What a declaration may be given: each rule refuses the rest, and says what to write instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from django.http import HttpResponseBase
from django.utils.functional import Promise

from poppy_operations.conf import LONGEST_DURATION

SHORTEST_DURATION: Final = timedelta(seconds=1)
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")


def require_name(subject: str, value: object, longest: int) -> None:
    """Refuse a name that cannot be stored, or that breaks a line of the log."""
    if not isinstance(value, str):
        message = f"{subject} is text, not {value!r}."
        raise TypeError(message)
    if not 0 < len(value) <= longest:
        message = f"{subject} has 1 to {longest} characters: {value!r}."
        raise ValueError(message)
    if not value.isprintable() or value != value.strip():
        message = f"{subject} has no line breaks, control characters or outer spaces: {value!r}."
        raise ValueError(message)


def require_flag(subject: str, value: object) -> None:
    """Refuse what is neither ``True`` nor ``False``: the text ``"False"`` is true."""
    if not isinstance(value, bool):
        message = f"{subject} is True or False, not {_kind(value)}. bool(…) makes one of them."
        raise TypeError(message)


def require_number(subject: str, value: object) -> None:
    """Refuse what is no whole number, ``True`` and ``False`` included."""
    if not isinstance(value, int) or isinstance(value, bool):
        message = f"{subject} is a whole number, not {_kind(value)}."
        raise TypeError(message)


def require_duration(subject: str, value: object) -> None:
    """Refuse what is no ``timedelta`` from a second to ten years."""
    if not isinstance(value, timedelta):
        message = f"{subject} is a timedelta, not {value!r}: timedelta(minutes=15), for example."
        raise TypeError(message)
    if not SHORTEST_DURATION <= value <= LONGEST_DURATION:
        message = (
            f"{subject} is a timedelta of a second or more, and of {LONGEST_DURATION.days} days "
            f"at most, not {value!r}."
        )
        raise ValueError(message)


def listed(subject: str, value: object, of: str) -> tuple[object, ...]:
    """The entries of a list, a tuple or a set, in a copy that nobody changes.

    Text is refused, since its entries are its characters, and so is what can be read only once.
    """
    if isinstance(value, list | tuple | set | frozenset):
        return tuple(value)
    shown = value.__name__ if isinstance(value, type) else repr(value)
    hint = f" Write [{shown}]." if isinstance(value, str | type) else ""
    message = f"{subject} is a list of {of}, not {shown}.{hint}"
    raise TypeError(message)


def scopes(subject: str, value: object) -> frozenset[str]:
    """The scopes of a list or set, as a set. Text is refused: any part of it would be a scope."""
    named = listed(subject, value, "scopes")
    if not all(isinstance(scope, str) for scope in named):
        message = f"{subject} is a list of scopes, and each of them is text."
        raise TypeError(message)
    return frozenset(map(str, named))


def require_identity(subject: str, value: object) -> None:
    """Refuse an identity that is no text: ``7`` would never be the same as ``"7"``."""
    if not isinstance(value, str):
        message = f"{subject} is text, not {_kind(value)}. str(…) makes text of a number."
        raise TypeError(message)


def require_scope(subject: str, value: object) -> None:
    """Refuse what cannot be a scope of an access token (RFC 6749, 3.3), so that no token has it."""
    if not isinstance(value, str) or not _SCOPE.fullmatch(value):
        message = f"{subject} is one scope of a token, such as 'orders:write', not {value!r}."
        raise TypeError(message)


def require_response(subject: str, value: object) -> None:
    """Refuse what is neither a response nor ``None``."""
    if value is not None and not isinstance(value, HttpResponseBase):
        message = f"{subject} is an HttpResponse or None, not {_kind(value)}."
        raise TypeError(message)


def require_object(subject: str, value: object) -> None:
    """Refuse what is no mapping, such as a list."""
    if not isinstance(value, Mapping):
        message = f"{subject} is an object such as a dict, not {_kind(value)}."
        raise TypeError(message)


def require_text(subject: str, value: object) -> None:
    """Refuse what is neither text, translated at once or lazily, nor ``None``."""
    if value is not None and not isinstance(value, str | Promise):
        message = f"{subject} is text or None, not {_kind(value)}."
        raise TypeError(message)


def _kind(value: object) -> str:
    # Never the value itself: it may come from a request.
    return "None" if value is None else f"an object of the type {type(value).__name__}"
