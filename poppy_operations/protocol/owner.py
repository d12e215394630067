"""Who an operation belongs to (section 3, "Who can approve it")."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property

from poppy_operations.protocol.canonical import digest


@dataclass(frozen=True)
class Owner:
    """The Personal Agent, its User and the account, or none, that an operation belongs to.

    Exactly the Sessions with the same three can approve the operation. ``account`` is
    ``None`` while signed out; ``client_id`` and ``user_id`` are ``None`` only in review: the
    asker may be no Personal Agent.
    """

    client_id: str | None
    user_id: str | None
    account: str | None

    @cached_property
    def digest(self) -> str:
        """One text for the three, in which ``None``, ``""`` and every other value differ."""
        return digest(json.dumps([self.client_id, self.user_id, self.account]))

    def is_challenged_for(self, other: Owner) -> bool:
        """Whether this signed-out Session gets a challenge for an operation of ``other`` (3)."""
        return (
            self.account is None
            and other.account is not None
            and (self.client_id, self.user_id) == (other.client_id, other.user_id)
        )
