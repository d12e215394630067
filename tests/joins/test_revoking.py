"""Revoking an agent ends what its browsers were given, for good."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import call_command

from poppy_operations.models import Join
from poppy_operations.sessions.agents import add_agent
from tests.agents import SessionOf
from tests.shop.models import Item

pytestmark = pytest.mark.django_db


def test_a_join_stays_over_when_its_revoked_agent_is_allowed_again(
    signed_in: SessionOf, jacket: Item, capsys: Any
) -> None:
    browser = signed_in.browser()
    assert browser.get("/plain/").content == b"alice"
    call_command("poppy_agents", "revoke", signed_in.agent.client_id)
    add_agent(signed_in.agent.client_id, jwks=signed_in.agent.jwks, again=True)
    assert Join.objects.get().ended_because == "agent revoked"
    assert browser.get("/plain/").content == b"AnonymousUser"
    response = browser.post("/buy/", {"sku": "jacket", "quantity": "1"})
    assert (response.status_code, "Poppy-Operation" in response) == (403, False)
