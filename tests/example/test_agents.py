"""The shop from outside, as Personal Agents use it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from example_project.tour.agent import CLIENT_ID, Agent, approval_of
from example_project.tour.server import Server
from example_project.tour.web import Answer
from tests.example.callers import AGENT as KEYS

pytestmark = pytest.mark.servers


def agent(server: Server, scope: str = "orders:write") -> Agent:
    token = server.command("demo_token", "alice", "--client-id", CLIENT_ID, "--scope", scope)
    return Agent(server.url, KEYS, token.strip())


def effects(server: Server) -> list[dict[str, Any]]:
    return [json.loads(line) for line in server.command("demo_effects").splitlines()]


def approved(asking: Agent, url: str, content: object) -> tuple[Answer, dict[str, str | int]]:
    """Ask, approve, and ask again; gives the answer and the approval."""
    asked = asking.post(url, content)
    assert asked.status == 403, asked.text
    approval = approval_of(asked.json()["operation"])
    return asking.post(url, content, approval=approval), approval


def test_a_refund_that_the_gateway_refuses_is_answered_by_the_shop(shop: Server) -> None:
    url = f"{shop.url}/api/orders/ord_7Hk2/refunds"
    answer, _ = approved(agent(shop), url, {"amount": "0.13"})
    assert answer.status == 422
    assert answer.json()["error"] == "refund_refused"
    assert effects(shop) == []


def test_a_refund_is_made_once_however_often_it_is_approved(shop: Server) -> None:
    asking, url = agent(shop), f"{shop.url}/api/orders/ord_7Hk2/refunds"
    answer, approval = approved(asking, url, {"amount": "20.00"})
    again = asking.post(url, {"amount": "20.00"}, approval=approval)
    assert (answer.status, again.status) == (201, 201)
    assert again.json() == answer.json()
    (effect,) = effects(shop)
    assert effect["key"] == approval["operation_id"]
    order = asking.get(f"{shop.url}/api/orders/ord_7Hk2").json()
    assert [made["refund_id"] for made in order["refunds"]] == [answer.json()["refund_id"]]


def test_a_refund_of_which_nobody_knows_is_never_reported_as_failed(shop: Server) -> None:
    asking, url = agent(shop), f"{shop.url}/api/orders/ord_7Hk2/refunds"
    answer, approval = approved(asking, url, {"amount": "0.66"})
    again = asking.post(url, {"amount": "0.66"}, approval=approval)
    for unknown in (answer, again):
        assert unknown.status == 503
        assert unknown.header("Retry-After")
    assert [effect["effect"] for effect in effects(shop)] == ["refund"]


def test_a_signed_out_agent_reserves_and_needs_no_scope(shop: Server) -> None:
    signed_out = Agent(shop.url, KEYS)
    url = f"{shop.url}/api/reservations"
    answer, _ = approved(signed_out, url, {"sku": "squall-cap", "quantity": 2, "gift": True})
    assert answer.status == 201
    (effect,) = effects(shop)
    assert (effect["account"], effect["total"]["amount"]) == (None, "64.00")


def test_what_needs_a_scope_or_an_account_says_which(shop: Server) -> None:
    url = f"{shop.url}/api/orders/ord_7Hk2/refunds"
    refused = agent(shop, scope="").post(url, {"amount": "1.00"})
    assert refused.status == 403
    assert refused.json() == {"error": "insufficient_scope", "scope": "orders:write"}
    challenged = Agent(shop.url, KEYS).post(url, {"amount": "1.00"})
    assert challenged.status == 401
    assert str(challenged.header("WWW-Authenticate")).startswith("Bearer resource_metadata=")


def test_another_accounts_order_does_not_exist(shop: Server) -> None:
    asking = agent(shop)
    url = f"{shop.url}/api/orders/ord_9Zp4"
    assert asking.get(url).status == 404
    assert asking.post(f"{url}/refunds", {"amount": "1.00"}).status == 404
