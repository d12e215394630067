"""A Company that knows in which Session a call over stdio is."""

from __future__ import annotations

from typing import Any

from poppy_operations import Company, Session
from poppy_operations.sessions.verification import SessionHeaders

HEADERS = "shop.example/headers"


class StdioCompany(Company):
    """Reads in ``_meta`` what would be headers by HTTP, as it has agreed with its agents."""

    def session_for_stdio(self, context: Any) -> Session:
        """Verify them as headers are."""
        meta = (context.request_context.params or {}).get("_meta") or {}
        verifier = self.session_verifier()
        verifier.token_verifier = self.token_verifier()
        headers = {name.lower(): value for name, value in meta.get(HEADERS, {}).items()}
        return verifier.verify_headers(SessionHeaders.from_mapping(headers))
