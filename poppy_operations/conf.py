"""The settings of ``POPPY_OPERATIONS``, read at access and never cached."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

# Longer durations may end after the last year that databases and Python know.
LONGEST_DURATION = timedelta(days=3650)
# What a database takes in one statement by default, in whatever form the bytes are written.
_LARGEST_BODY = 4 * 1024 * 1024


_PRINTABLE = re.compile(r"[\x21-\x7e]+")


class Kind(NamedTuple):
    """What the value of a setting should be, in words, and whether a value fits."""

    said: str
    fits: Callable[[object], bool]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_text_or_none(value: object) -> bool:
    return value is None or _is_text(value)


def _is_issuer(value: object) -> bool:
    # A missing issuer has a message of its own.
    return not value or (isinstance(value, str) and _PRINTABLE.fullmatch(value) is not None)


def _is_key_set(value: object) -> bool:
    # With an object that holds no keys, no token is valid; the checks say so.
    return isinstance(value, Mapping) or _is_text_or_none(value)


def _whole_number(said: str, least: int, most: int | None = None) -> Kind:
    def fits(value: object) -> bool:
        if not isinstance(value, int) or isinstance(value, bool):
            return False
        return least <= value and (most is None or value <= most)

    return Kind(said, fits)


def _duration(said: str, least: timedelta, most: timedelta = LONGEST_DURATION) -> Kind:
    return Kind(said, lambda value: isinstance(value, timedelta) and least <= value <= most)


_FLAG = Kind("True or False", lambda value: isinstance(value, bool))
_NAME = Kind("a string", _is_text_or_none)
_SECOND, _MINUTE = timedelta(seconds=1), timedelta(minutes=1)

KINDS: Mapping[str, Kind] = {
    "COMPANY": Kind("the dotted path of a class", _is_text),
    "EXTENSION_REQUIRED_STATUS": _whole_number("an HTTP status from 400 to 499", 400, 499),
    "ISSUER": Kind("a URL", _is_issuer),
    "JOIN_LIFETIME": _duration("a timedelta from a second to 3650 days", _SECOND),
    "JOIN_STAFF": _FLAG,
    "JOIN_WITHOUT_FETCH_METADATA": _FLAG,
    "LEEWAY": _duration("a timedelta from zero to five minutes", timedelta(0), 5 * _MINUTE),
    "OPEN_REVISIONS": _whole_number("a whole number from 1", 1),
    "QUEUE": Kind("the dotted path of a function", _is_text),
    "QUEUE_LEASE": _duration("a timedelta from a minute to 3650 days", _MINUTE),
    "RECORD_STATEMENTS": _FLAG,
    "REQUIRE_ATH": _FLAG,
    "STORED_BODY_BYTES": _whole_number(
        f"a number of bytes from 0 to {_LARGEST_BODY}", 0, _LARGEST_BODY
    ),
    "TOKEN_AUDIENCE": _NAME,
    "TOKEN_ISSUER": _NAME,
    "TOKEN_JWKS": Kind("a key set (a dict with `keys`) or the HTTPS URL of one", _is_key_set),
}


class Settings:
    """One typed property for each key of the dict ``settings.POPPY_OPERATIONS``.

    A value of another type, or out of range, raises ``ImproperlyConfigured`` when it is read: a
    server makes no system checks, and the text ``"False"`` is true.
    """

    def _value(self, key: str, default: Any = None) -> Any:
        declared = getattr(settings, "POPPY_OPERATIONS", {})
        if not isinstance(declared, dict):
            message = "POPPY_OPERATIONS is not a dict."
            raise ImproperlyConfigured(message)
        if key not in declared:
            return default
        kind, value = KINDS[key], declared[key]
        if not kind.fits(value):
            message = f"POPPY_OPERATIONS['{key}'] should be {kind.said}."
            raise ImproperlyConfigured(message)
        return value

    @property
    def company(self) -> str:
        """``COMPANY``: dotted path of the class with the site's hooks."""
        return str(self._value("COMPANY", "poppy_operations.company.Company"))

    @property
    def issuer(self) -> str:
        """``ISSUER``: this Company's issuer, the ``aud`` of every Session JWT."""
        issuer = self._value("ISSUER")
        if not issuer:
            message = "POPPY_OPERATIONS['ISSUER'] is not set: it is the `aud` of Session JWTs."
            raise ImproperlyConfigured(message)
        return str(issuer)

    @property
    def token_issuer(self) -> str:
        """``TOKEN_ISSUER``: the ``iss`` of access tokens. Default: the issuer."""
        return str(self._value("TOKEN_ISSUER") or self.issuer)

    @property
    def token_audience(self) -> str:
        """``TOKEN_AUDIENCE``: the ``aud`` of access tokens. Default: the issuer."""
        return str(self._value("TOKEN_AUDIENCE") or self.issuer)

    @property
    def token_jwks(self) -> dict[str, Any] | str | None:
        """``TOKEN_JWKS``: the key set of access tokens, or its HTTPS URL."""
        value: dict[str, Any] | str | None = self._value("TOKEN_JWKS")
        return value

    @property
    def require_ath(self) -> bool:
        """``REQUIRE_ATH``: refuse a Session JWT without ``ath`` beside an access token."""
        return bool(self._value("REQUIRE_ATH", default=False))

    @property
    def leeway(self) -> timedelta:
        """``LEEWAY``: how far the clocks of agents may differ from ours."""
        leeway: timedelta = self._value("LEEWAY", timedelta(seconds=30))
        return leeway

    @property
    def extension_required_status(self) -> int:
        """``EXTENSION_REQUIRED_STATUS``: HTTP status of ``extension_required`` (2)."""
        return int(self._value("EXTENSION_REQUIRED_STATUS", 403))

    @property
    def open_revisions(self) -> int:
        """``OPEN_REVISIONS``: unexpired revisions without approval that one owner may have."""
        return int(self._value("OPEN_REVISIONS", 50))

    @property
    def stored_body_bytes(self) -> int:
        """``STORED_BODY_BYTES``: largest answer that is stored for replays, in bytes."""
        return int(self._value("STORED_BODY_BYTES", 64 * 1024))

    @property
    def record_statements(self) -> bool:
        """``RECORD_STATEMENTS``: keep approved_at, input_type and reference of approvals (6)."""
        return bool(self._value("RECORD_STATEMENTS", default=True))

    @property
    def queue(self) -> str:
        """``QUEUE``: dotted path of what hands a background attempt to a worker."""
        return str(self._value("QUEUE", "poppy_operations.tasks.enqueue"))

    @property
    def queue_lease(self) -> timedelta:
        """``QUEUE_LEASE``: how long a background attempt may wait for a worker to start it."""
        lease: timedelta = self._value("QUEUE_LEASE", timedelta(minutes=15))
        return lease

    @property
    def join_lifetime(self) -> timedelta:
        """``JOIN_LIFETIME``: how long a browser stays joined, never longer than its token."""
        lifetime: timedelta = self._value("JOIN_LIFETIME", timedelta(hours=1))
        return lifetime

    @property
    def join_staff(self) -> bool:
        """``JOIN_STAFF``: let an agent's browser be signed in as a member of staff."""
        return bool(self._value("JOIN_STAFF", default=False))

    @property
    def join_without_fetch_metadata(self) -> bool:
        """``JOIN_WITHOUT_FETCH_METADATA``: redeem join URLs sent without Sec-Fetch-Site."""
        return bool(self._value("JOIN_WITHOUT_FETCH_METADATA", default=False))


conf = Settings()
KEYS = frozenset(
    name.upper() for name, value in vars(Settings).items() if isinstance(value, property)
)
