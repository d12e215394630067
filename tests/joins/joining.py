"""What an agent and its browser do when they join, without a test's other Sessions."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.test import AsyncClient, Client

from poppy_operations.testing.agents import PersonalAgent
from tests.agents import AGENT, AUDIENCE, ISSUER

SCOPE = "poppy:browser-sign-in"
TYPED = {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}
SUBMITTED = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate"}


def a_user(username: str = "alice", **fields: Any) -> Any:
    return get_user_model().objects.create_user(username, password="demo-password", **fields)


def agent_headers(
    account: Any = None, *, scope: str = SCOPE, agent: PersonalAgent = AGENT, **named: Any
) -> dict[str, str]:
    token = None
    if account is not None:
        pk = str(getattr(account, "pk", account))
        lifetime = named.pop("lifetime", 3600)
        token = ISSUER.access_token(pk, client_id=agent.client_id, scope=scope, lifetime=lifetime)
    return agent.headers(audience=AUDIENCE, access_token=token, **named)


def ask_for_ticket(account: Any = None, body: Any = None, **named: Any) -> Any:
    """POST to the join's endpoint as the agent does, which has no cookies."""
    return Client().post(
        "/poppy/join",
        data={} if body is None else body,
        content_type="application/json",
        headers=agent_headers(account, **named),
    )


def ticket_path(account: Any = None, body: Any = None, **named: Any) -> str:
    response = ask_for_ticket(account, body, **named)
    assert response.status_code == 200, response.content
    return response.json()["url"].removeprefix("http://testserver")


def join_browser(client: Client, account: Any = None, **named: Any) -> Any:
    """Join the client's browser at once: it has no login of its own."""
    response = client.get(ticket_path(account, **named), headers=TYPED)
    assert response.status_code == 303, response.content
    return response


async def ajoin_browser(client: AsyncClient, path: str) -> Any:
    response = await client.get(path, headers=TYPED)
    assert response.status_code == 303, response.content
    return response


def whoami(client: Client) -> dict[str, Any]:
    """What the site sees: its user, then what its browser is."""
    answer: dict[str, Any] = client.get("/whoami/").json()
    return answer
