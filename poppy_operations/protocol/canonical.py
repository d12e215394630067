"""One text for each set of terms, and one for each request's content.

Two texts are equal if the terms, or the contents, are equal, and only then: a digest can stand in
for either (3, "New terms"; 6, check 3). Terms are written by the site and shown to people: what has
no exact JSON form is refused. Content comes from outside: everything has a text, and what cannot be
compared equals nothing, not even itself.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import NoReturn

from poppy_operations.protocol.content import canonical_content as canonical_content  # offered here
from poppy_operations.protocol.plain_json import Resolve

# Beyond this, readers of JSON that keep numbers as doubles see another number.
LARGEST_INTEGER = 2**53
DEEPEST_TERMS = 64
_TERMS_WRITER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))
# Terms are read by people. The limit also keeps Decimal("1e999999999") from filling the memory.
LONGEST_DECIMAL = 128


class UnrepresentableTerms(TypeError):
    """Terms hold something that has no exact JSON form. The message names its path."""


def canonical_terms(values: Mapping[str, object], *, resolve: Resolve | None = None) -> str:
    """Return the canonical JSON text of an operation's terms (3).

    Keys are sorted by code point, nothing is escaped that need not be, and there are no spaces.
    ``Decimal`` becomes text without an exponent and with its zeros, ``date`` its ISO form, an aware
    ``datetime`` RFC 3339 in UTC.

    Args:
        values: objects, arrays, strings, integers within ±2**53, booleans, null and the above.
        resolve: asked once for each object that is none of these, a naive ``datetime`` included.
            What it returns takes the object's place. If it does not know the object either, it
            returns the object itself.

    Raises:
        UnrepresentableTerms: with the path of what has no exact form, such as
            ``terms.price.amount``.
    """
    if not isinstance(values, Mapping):
        _unrepresentable("terms", f"must be an object, not {_type_name(values)}")
    plain = _TermsEncoder(resolve).plain(values, "terms", 0)
    return _TERMS_WRITER.encode(plain)


def digest(text: str) -> str:
    """Return the SHA-256 of a text, in lower-case hexadecimal."""
    return hashlib.sha256(_octets(text)).hexdigest()


def keyed_digest(text: str, key: bytes) -> str:
    """Return the HMAC-SHA-256 of a text, in lower-case hexadecimal.

    For texts that may hold secrets, such as a request's content: without the key nobody can try
    guesses against a stored digest.
    """
    return hmac.digest(key, _octets(text), "sha256").hex()


class FrozenObject(Mapping[str, object]):
    """A JSON object that nobody can change. It equals the ``dict`` that it was made from."""

    __slots__ = ("_members",)

    def __init__(self, members: Mapping[str, object]) -> None:
        self._members = dict(members)

    def __getitem__(self, key: str) -> object:
        return self._members[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __repr__(self) -> str:
        return repr(self._members)


class FrozenArray(tuple[object, ...]):
    """A JSON array that nobody can change. It equals the ``list`` that it was made from."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return tuple(self) == (tuple(other) if isinstance(other, list) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


def freeze(text: str) -> FrozenObject:
    """Return terms from their canonical text, immutable at every depth.

    Raises:
        ValueError: the text is not a JSON object.
    """
    frozen = _frozen(json.loads(text))
    if not isinstance(frozen, FrozenObject):
        message = "The text of terms is a JSON object."
        raise ValueError(message)  # noqa: TRY004 - the argument has the right type, not the right text
    return frozen


def thaw(value: object) -> object:
    """Return a plain copy, ``dict`` and ``list``, of what :func:`freeze` returned or holds."""
    if isinstance(value, Mapping):
        return {key: thaw(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [thaw(member) for member in value]
    return value


def _frozen(value: object) -> object:
    if isinstance(value, dict):
        return FrozenObject({key: _frozen(member) for key, member in value.items()})
    if isinstance(value, list):
        return FrozenArray(_frozen(member) for member in value)
    return value


def _octets(text: str) -> bytes:
    # Every text has a digest, also one with lone surrogates, and no two share their octets.
    return text.encode(errors="surrogatepass")


def _type_name(value: object) -> str:
    return type(value).__name__


def _unrepresentable(path: str, why: str) -> NoReturn:
    message = f"{path}: {why}."
    raise UnrepresentableTerms(message)


class _TermsEncoder:
    """Turns terms into what ``json`` writes exactly, or names the path of what has no such form."""

    def __init__(self, resolve: Resolve | None) -> None:
        self._resolve = resolve

    def plain(self, value: object, path: str, depth: int, *, resolved: bool = False) -> object:
        if depth > DEEPEST_TERMS:
            _unrepresentable(path, f"nested more than {DEEPEST_TERMS} deep, or inside itself")
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, Mapping):
            return self._object(value, path, depth)
        if isinstance(value, list | tuple):
            return [
                self.plain(member, f"{path}[{index}]", depth + 1)
                for index, member in enumerate(value)
            ]
        for kind, encode in _EXACT:
            if isinstance(value, kind):
                encoded = encode(value, path)
                if encoded is not None:
                    return encoded
        return self._resolved(value, path, depth, resolved=resolved)

    def _object(self, value: Mapping[object, object], path: str, depth: int) -> dict[str, object]:
        members: dict[str, object] = {}
        for key, member in value.items():
            if not isinstance(key, str):
                _unrepresentable(path, f"keys are strings, and one is {_type_name(key)}")
            name = storable_text(key, f"{path} has a key that")
            # A subclass of str may hash differently: a dict then holds it beside the same text.
            if name in members:
                _unrepresentable(path, f"has the key {name!r} twice")
            members[name] = self.plain(member, f"{path}.{name}", depth + 1)
        return members

    def _resolved(self, value: object, path: str, depth: int, *, resolved: bool) -> object:
        if self._resolve is not None and not resolved:
            return self.plain(self._resolve(value), path, depth, resolved=True)
        if isinstance(value, datetime):
            _unrepresentable(path, "a datetime without a time zone says no moment")
        if isinstance(value, float):
            _unrepresentable(path, "a float has no exact text; use Decimal, an integer or a string")
        _unrepresentable(path, f"{_type_name(value)} has no JSON form; use a string")


def storable_text(value: str, path: str) -> str:
    """Return a text that every database keeps.

    Raises:
        UnrepresentableTerms: it holds U+0000 or a lone surrogate; the message names ``path``.
    """
    # The text itself, whatever a subclass such as an Enum makes of str().
    text = str.__str__(value)
    if "\0" in text:
        _unrepresentable(path, "holds U+0000, which databases do not keep")
    try:
        text.encode()
    except UnicodeEncodeError:
        _unrepresentable(path, "holds a lone surrogate, which is no character")
    return text


def _exact_integer(value: int, path: str) -> int:
    number = int.__index__(value)
    if abs(number) > LARGEST_INTEGER:
        _unrepresentable(path, "beyond ±2**53 not every reader sees the same integer; use a string")
    return number


def _exact_decimal(value: Decimal, path: str) -> str:
    if not value.is_finite():
        _unrepresentable(path, "is not a finite number")
    _, digits, exponent = value.as_tuple()
    if len(digits) + abs(int(exponent)) > LONGEST_DECIMAL:
        _unrepresentable(path, f"has more than {LONGEST_DECIMAL} digits")
    # A sum of nothing can come out as -0; people and other programs see the same number.
    return format(value if value else value.copy_abs(), "f")


def _exact_moment(value: datetime, path: str) -> str | None:
    if value.utcoffset() is None:
        return None
    try:
        return value.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"
    except OverflowError:
        _unrepresentable(path, "has no year between 1 and 9999 in UTC")


def _exact_day(value: date, path: str) -> str | None:
    # A naive datetime is a date to isinstance, but it is no day.
    return None if isinstance(value, datetime) else value.isoformat()


_EXACT: tuple[tuple[type, Callable[..., object]], ...] = (
    (str, storable_text),
    (int, _exact_integer),
    (Decimal, _exact_decimal),
    (datetime, _exact_moment),
    (date, _exact_day),
)
