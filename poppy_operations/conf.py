"""The settings of ``POPPY_OPERATIONS``, read at access and never cached."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


class Settings:
    """One typed property for each key of the dict ``settings.POPPY_OPERATIONS``."""

    def _value(self, key: str, default: Any = None) -> Any:
        return getattr(settings, "POPPY_OPERATIONS", {}).get(key, default)

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
        """``TOKEN_JWKS``: the key set of access tokens, or the HTTPS URL where it is."""
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
