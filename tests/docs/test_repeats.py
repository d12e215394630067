"""What the admin says of repeats is what the pages say: it depends on the interface."""

from __future__ import annotations

import json

import pytest

from poppy_operations.models import Agent, Operation
from tests.admin.operators import staff, tell, text, url

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("interface", ["website", "api"])
def test_the_admin_says_what_a_repeat_gets(interface: str) -> None:
    agent = Agent.objects.create(
        client_id="https://agent.example/client", jwks=json.dumps({"keys": []})
    )
    told = tell(agent, interface=interface)
    operator = staff("view_operation", "view_performance")
    page = text(operator.get(url(Operation, of=told.operation)))
    on_website = interface == "website"
    assert ("is a new action" in page) == on_website
    assert ("A repeat of the request with its approval" in page) != on_website
    assert ("A repeat gets" in page) != on_website
