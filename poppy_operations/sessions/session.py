"""The Session of a Personal Agent, as far as operations need it."""

from __future__ import annotations

from dataclasses import dataclass

from poppy_operations.protocol.owner import Owner


@dataclass(frozen=True)
class Session:
    """A verified Session: every value in it was checked against the agent's keys and token.

    ``account`` is the Company's account that the Session is signed in to, as text, or ``None``
    while signed out; ``scope`` and ``token_expires_at`` (seconds since 1970, UTC) are those of
    its access token. ``declared`` says that this request declared operations version 3 (2): it
    belongs to the request, not to the Session.
    """

    client_id: str
    user_id: str
    account: str | None
    sid: str
    declared: bool
    scope: frozenset[str] = frozenset()
    token_expires_at: int | None = None

    @property
    def owner(self) -> Owner:
        """Whom an operation returned in this Session belongs to (3)."""
        return Owner(self.client_id, self.user_id, self.account)
