"""What the Company returns: an operation, or a decline of its approval (3, 6)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from poppy_operations.protocol.canonical import thaw
from poppy_operations.protocol.times import rfc3339


@dataclass(frozen=True)
class ReturnedOperation:
    """One revision of an operation, as an agent gets it (3).

    ``terms`` is the canonical text of the terms, ``expires_at`` the last second, in Unix time, in
    which an approval is accepted.
    """

    operation_id: str
    revision: str
    terms: str
    expires_at: int
    summary: str | None = None

    def as_json(self) -> dict[str, object]:
        """Return the JSON object of section 3. Without a summary it has no such member."""
        summary = {"summary": self.summary} if self.summary else {}
        return {
            "operation_id": self.operation_id,
            "revision": self.revision,
            **summary,
            "terms": json.loads(self.terms),
            "expires_at": rfc3339(self.expires_at),
        }


@dataclass(frozen=True)
class DeclineStatement:
    """The Company declines an approval, and nothing was performed (6).

    ``reason`` is for the User, in plain language; ``alternative`` another way to do the action
    (spec 9.2), passed on as it is.
    """

    operation_id: str
    revision: str
    reason: str | None = None
    alternative: Mapping[str, object] | None = None

    def members(self) -> dict[str, object]:
        """Return the members that every interface's decline has, without ``error``."""
        members: dict[str, object] = {"operation_id": self.operation_id, "revision": self.revision}
        if self.reason:
            members["reason"] = self.reason
        if self.alternative is not None:
            members["alternative"] = thaw(self.alternative)
        return members
