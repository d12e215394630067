"""Two async calls on one event loop, each inside the other's action, as ASGI servers run them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.db import connection
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.urls import path

from poppy_operations import Action, operation_of
from poppy_operations.decorators import personal_agents
from poppy_operations.models import Operation
from tests.agents import HOST, ApiClient, SessionOf, approval_of
from tests.connections import need_connections_of_their_own
from tests.shop.models import Effect, Item
from tests.shop.orders import order_terms

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]
LONG = 30  # seconds that nothing takes, so that a fault ends the test
ADDRESSES = ["/within/", "/outside/"]


class Meeting:
    """Where the actions wait inside: each tells that it is there, and is told to go on."""

    def __init__(self) -> None:
        self.inside = events()
        self.go_on = events()
        self.client_leaves = events()

    async def wait(self, quantity: int) -> None:
        """Wait inside of the action."""
        self.inside[quantity].set()
        await asyncio.wait_for(self.go_on[quantity].wait(), LONG)


def events() -> dict[int, asyncio.Event]:
    """An event for each of the two actions."""
    return {1: asyncio.Event(), 2: asyncio.Event()}


class Here:
    """The meeting of the test that runs."""

    meeting: Meeting


def view_of(action: Action) -> Any:
    @personal_agents()
    @action.api(terms=order_terms)
    async def view(request: HttpRequest) -> HttpResponseBase:
        operation = operation_of(request)
        quantity = operation.terms["quantity"]
        await sync_to_async(Effect.objects.create)(kind=operation.action, key=f"{quantity} jacket")
        await Here.meeting.wait(quantity)
        return JsonResponse({"done": operation.operation_id}, status=201)

    return view


within = Action("loop.within", effects="database")
outside = Action("loop.outside", effects="external")
urlpatterns = [path("within/", view_of(within)), path("outside/", view_of(outside))]


@pytest.fixture(autouse=True)
def here(settings: Any, jacket: Item) -> None:
    need_connections_of_their_own()
    settings.ROOT_URLCONF = __name__


class Server:
    """Django's own ASGI handler, as a server calls it: each request has a thread of its own."""

    def __init__(self, session: SessionOf, address: str) -> None:
        self.session = session
        self.address = address
        self.handler = ASGIHandler()
        self.approvals = {quantity: self._approval(quantity) for quantity in (1, 2)}

    def _approval(self, quantity: int) -> Mapping[str, Any]:
        order = {"sku": "jacket", "quantity": quantity}
        return approval_of(ApiClient(self.session, self.address).ask(body=order))

    async def send(self, quantity: int) -> tuple[int, Any] | None:
        """Send the approved request; give status and body, or ``None`` where nobody waits."""
        headers = {
            "host": HOST,
            "content-type": "application/json",
            **self.session.headers(self.approvals[quantity]),
        }
        scope = {
            "type": "http",
            "method": "POST",
            "path": self.address,
            "query_string": b"",
            "headers": [(name.lower().encode(), text.encode()) for name, text in headers.items()],
        }
        body = json.dumps({"sku": "jacket", "quantity": quantity}).encode()
        to_receive = [{"type": "http.request", "body": body}]
        sent: list[Any] = []

        async def receive() -> Any:
            if to_receive:
                return to_receive.pop()
            await Here.meeting.client_leaves[quantity].wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await asyncio.wait_for(self.handler(scope, receive, send), LONG)
        if not sent:
            return None
        return sent[0]["status"], json.loads(b"".join(part.get("body", b"") for part in sent[1:]))


def effects() -> list[str]:
    return sorted(Effect.objects.values_list("key", flat=True))


def states() -> list[str]:
    return list(Operation.objects.order_by("pk").values_list("state", flat=True))


@pytest.mark.requirement("OPS-7-01", "OPS-7-09")
@pytest.mark.parametrize("address", ADDRESSES)
def test_the_same_approval_twice_is_performed_once(address: str, signed_in: SessionOf) -> None:
    server = Server(signed_in, address)

    async def both() -> list[Any]:
        Here.meeting = Meeting()
        first = asyncio.create_task(server.send(1))
        await asyncio.wait_for(Here.meeting.inside[1].wait(), LONG)
        second = await server.send(1)
        Here.meeting.go_on[1].set()
        return [second, await first, await server.send(1)]

    meanwhile, first, again = asyncio.run(both())
    assert meanwhile[0] == 503
    assert first == again == (201, {"done": server.approvals[1]["operation_id"]})
    assert (effects(), states()) == (["1 jacket"], ["performed", "open"])


@pytest.mark.requirement("OPS-7-01")
@pytest.mark.parametrize("ends", [(1, 2), (2, 1)], ids=["first first", "last first"])
@pytest.mark.parametrize("address", ADDRESSES)
def test_two_actions_inside_each_other_keep_their_transactions_apart(
    address: str, ends: tuple[int, int], signed_in: SessionOf
) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite lets one action write at a time")
    server = Server(signed_in, address)

    async def both() -> list[Any]:
        Here.meeting = Meeting()
        running = {}
        for quantity in (1, 2):
            running[quantity] = asyncio.create_task(server.send(quantity))
            await asyncio.wait_for(Here.meeting.inside[quantity].wait(), LONG)
        how = {1: Here.meeting.client_leaves, 2: Here.meeting.go_on}
        answers: dict[int, Any] = {}
        for quantity in ends:
            how[quantity][quantity].set()
            answers[quantity] = await running[quantity]
        return [answers[1], answers[2]]

    left, performed = asyncio.run(both())
    assert left is None
    assert performed == (201, {"done": server.approvals[2]["operation_id"]})
    if address == "/outside/":
        assert (effects(), states()) == (["1 jacket", "2 jacket"], ["performing", "performed"])
        assert Operation.objects.get(state="performing").outcome_unknown_since is not None
        return
    assert (effects(), states()) == (["2 jacket"], ["open", "performed"])
    performed = asyncio.run(alone(server))
    assert performed == (201, {"done": server.approvals[1]["operation_id"]})
    assert effects() == ["1 jacket", "2 jacket"]


async def alone(server: Server) -> Any:
    """Send the first request again, with nobody beside it."""
    Here.meeting = Meeting()
    Here.meeting.go_on[1].set()
    return await server.send(1)
