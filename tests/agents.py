"""Personal Agents in their Sessions: at the endpoint, at the API, and with browsers that join.

Tests drive them through Django's test client. Keys are made once for the whole suite.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import http_sf
from django.test import Client

from poppy_operations.testing.agents import PersonalAgent, TokenIssuer

AUDIENCE = "https://shop.example"
HOST = "shop.example"
AGENT = PersonalAgent()
OTHER_AGENT = PersonalAgent("https://other-agent.example/client")
ISSUER = TokenIssuer()
ORDER: Mapping[str, Any] = {"sku": "jacket", "quantity": 1}
MADE_UP = {"operation_id": "ord_madeup", "revision": "1-madeup"}


def reference(response: Any) -> tuple[str, str]:
    """The ``sid`` and ``ref`` of a website's refusal, read by a strict parser."""
    parsed = http_sf.parse(response["Poppy-Operation"].encode(), tltype="dictionary")
    return parsed["sid"][0], parsed["ref"][0]


@dataclass
class SessionOf:
    """One Session: an agent's, for a User, signed in to an account or not."""

    agent: PersonalAgent
    issuer: TokenIssuer
    user_id: str = "u1"
    sid: str = "ses_1"
    account: str | None = None
    scope: str = "poppy:browser-sign-in"
    declared: bool = True
    client: Client = field(default_factory=lambda: Client(headers={"host": HOST}))

    @property
    def access_token(self) -> str | None:
        """A fresh access token of the account."""
        if self.account is None:
            return None
        return self.issuer.access_token(
            self.account, client_id=self.agent.client_id, scope=self.scope
        )

    def headers(self, approval: Mapping[str, Any] | None = None, **options: Any) -> dict[str, str]:
        """The headers of one request."""
        options.setdefault("declared", self.declared)
        options.setdefault("access_token", self.access_token)
        return self.agent.headers(
            user_id=self.user_id, sid=self.sid, audience=AUDIENCE, approval=approval, **options
        )

    def endpoint(self, ref: str, approval: Mapping[str, Any] | None = None, **options: Any) -> Any:
        """Ask the endpoint for a reference, or send an approval."""
        return self.client.post(
            "/poppy/operations",
            data=json.dumps({"ref": ref}),
            content_type="application/json",
            headers=self.headers(approval, **options),
        )

    def look_up(self, ref: str) -> dict[str, Any]:
        """The operation of a reference, which has to be there."""
        response = self.endpoint(ref)
        assert response.status_code == 403, response.content
        body = response.json()
        assert body["error"] == "approval_required", body
        operation: dict[str, Any] = body["operation"]
        return operation

    def approve(self, ref: str, approver: str = "user", **members: Any) -> dict[str, Any]:
        """Look the operation up and approve it; the approval is given back."""
        operation = self.look_up(ref)
        approval = approval_of(operation, approver, **members)
        response = self.endpoint(ref, approval)
        assert response.status_code == 204, response.content
        return approval

    def status(self, ref: str) -> str:
        """The state of an approved operation."""
        response = self.endpoint(ref)
        assert response.status_code == 200, response.content
        status: str = response.json()["status"]
        return status

    def browser(self, client: Client | None = None, **ticket: Any) -> Client:
        """A browser joined to this Session."""
        browser = client or Client(headers={"host": HOST})
        answer = self.client.post(
            "/poppy/join",
            data=json.dumps(ticket) if ticket else "",
            content_type="application/json",
            headers=self.headers(),
        )
        assert answer.status_code == 200, answer.content
        path = "/" + answer.json()["url"].split("/", 3)[3]
        joined = browser.get(path, headers={"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"})
        assert joined.status_code == 303, joined.content
        return browser


def approval_of(
    operation: Mapping[str, Any], approver: str = "user", **members: Any
) -> dict[str, Any]:
    """The members of an approval of an operation."""
    return {
        "operation_id": operation["operation_id"],
        "revision": operation["revision"],
        "approver": approver,
        **members,
    }


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
