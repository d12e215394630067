"""A Personal Agent that calls the test site's API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.agents import SessionOf, approval_of

ORDER: Mapping[str, Any] = {"sku": "jacket", "quantity": 1}
MADE_UP = {"operation_id": "ord_madeup", "revision": "1-madeup"}


@dataclass
class ApiClient:
    """Calls one address of the API, in a Session, with the same content unless a test says so."""

    session: SessionOf
    path: str = "/api/class/"

    def send(
        self,
        approval: Mapping[str, Any] | None = None,
        *,
        body: Any = ORDER,
        method: str = "POST",
        path: str | None = None,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Any:
        """Send the request, with an approval or without."""
        given = self.session.headers(approval, **options)
        return self.session.client.generic(
            method,
            path or self.path,
            body if isinstance(body, str | bytes) else json.dumps(body),
            content_type=content_type,
            headers={**given, **(headers or {})},
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        """Get an operation, which has to come."""
        return operation_in(self.send(**request))

    def approve(self, operation: Mapping[str, Any], approver: str = "user", **request: Any) -> Any:
        """Send the request again with the operation's approval."""
        return self.send(approval_of(operation, approver), **request)


def operation_in(response: Any) -> dict[str, Any]:
    """The operation of an API's refusal."""
    assert response.status_code == 403, (response.status_code, response.content)
    body = response.json()
    assert body["error"] == "approval_required", body
    operation: dict[str, Any] = body["operation"]
    return operation
