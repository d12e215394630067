"""The Session of a Personal Agent, as far as operations need it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from poppy_operations.declarations.arguments import (
    require_flag,
    require_identity,
    require_number,
    scopes,
)
from poppy_operations.protocol.owner import Owner


@dataclass(frozen=True)
class Session:
    """A verified Session: every value in it was checked against the agent's keys and token.

    ``account`` is the Company's account that the Session is signed in to, as text, or ``None``
    while signed out; ``scope`` and ``token_expires_at`` (seconds since 1970, UTC) are those of
    its access token. ``declared`` says that this request declared operations version 3 (2): it
    belongs to the request, not to the Session. Raises ``TypeError`` if a value has another type.
    """

    client_id: str
    user_id: str
    account: str | None
    sid: str
    declared: bool
    scope: frozenset[str] = frozenset()
    token_expires_at: int | None = None

    def __post_init__(self) -> None:
        for name in ("client_id", "user_id", "sid"):
            require_identity(f"Session.{name}", getattr(self, name))
        if self.account is not None:
            require_identity("Session.account", self.account)
        require_flag("Session.declared", self.declared)
        object.__setattr__(self, "scope", scopes("Session.scope", self.scope))
        if self.token_expires_at is not None:
            require_number("Session.token_expires_at", self.token_expires_at)

    @cached_property
    def owner(self) -> Owner:
        """Whom an operation returned in this Session belongs to (3)."""
        return Owner(self.client_id, self.user_id, self.account)
