"""Which revision a tool returns, and that nothing is begun before one is approved (3)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from mcp.server.mcpserver import Context

from poppy_operations import Terms, operation_of
from poppy_operations.models import Revision
from tests.agents import approval_of
from tests.clock import Clock
from tests.mcp.clients import ToolClient, operation_in
from tests.mcp.servers import OwnServer
from tests.shop.models import Effect, Item
from tests.shop.operations import Behaviour
from tests.shop.orders import ApiBehaviour

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]


@pytest.mark.requirement("OPS-1-01", "OPS-3-20", "OPS-4-01")
@pytest.mark.parametrize("tool", ["order", "sync_order", "transfer"])
def test_no_part_of_the_action_begins_before_its_approval_has_come(
    tool: str, tools: ToolClient, site: Behaviour, effects: Effects
) -> None:
    begun: list[str] = []
    site.before_effect = lambda operation: begun.append(operation.action)
    tools.tool = tool
    operation = tools.ask()
    never = {**approval_of(operation), "revision": "1-never-returned"}

    assert tools.ask() == operation
    assert operation_in(tools.call(never))
    assert operation_in(tools.approve(operation, arguments={"sku": "jacket", "quantity": 2}))
    assert begun == effects() == []

    assert not tools.approve(operation).is_error
    assert len(begun) == len(effects()) == 1


@pytest.mark.requirement("OPS-3-08", "OPS-3-09", "OPS-3-29")
def test_a_later_expiry_is_another_revision(tools: ToolClient, clock: Clock) -> None:
    first = tools.ask()
    clock.at(minutes=7, seconds=30)  # half of its lifetime is left
    assert tools.ask() == first
    clock.at(minutes=7, seconds=31)
    second = tools.ask()

    assert second["operation_id"] == first["operation_id"]
    assert second["terms"] == first["terms"]
    assert second["revision"] != first["revision"]
    expiries = [datetime.fromisoformat(seen["expires_at"]) for seen in (first, second)]
    assert [one - clock.start for one in expiries] == [
        timedelta(minutes=15),
        timedelta(minutes=22, seconds=31),
    ]


@pytest.mark.requirement("OPS-3-10")
def test_the_same_terms_in_other_words_are_the_same_revision(
    tools: ToolClient, shop: ApiBehaviour, effects: Effects
) -> None:
    said = iter(["A jacket.", "One jacket.", None, None])
    terms = {"sku": "jacket", "quantity": 1}
    shop.terms = lambda request: Terms(terms, summary=next(said))
    operation = tools.ask()

    assert tools.ask() == operation
    assert not tools.approve(operation).is_error
    assert effects() == ["api.order 1 jacket"]


@pytest.mark.requirement("OPS-3-05", "OPS-3-22", "OPS-3-24", "OPS-5-02", "OPS-8.1-02")
def test_each_price_has_a_revision_of_its_own_whose_terms_stay(
    tools: ToolClient, effects: Effects
) -> None:
    def at(price: str) -> dict[str, Any]:
        Item.objects.update(price=Decimal(price))
        return tools.ask()

    cheap, dear = at("70.00"), at("75.00")
    assert dear["operation_id"] == cheap["operation_id"]
    assert dear["revision"] != cheap["revision"]
    assert operation_in(tools.approve(cheap)) == dear
    assert effects() == []
    assert at("70.00") == cheap

    stored = Revision.objects.order_by("number").values_list("revision", "terms")
    assert [(revision, json.loads(terms)) for revision, terms in stored] == [
        (one["revision"], one["terms"]) for one in (cheap, dear)
    ]
    assert not tools.approve(cheap).is_error
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-3-04", "OPS-3-06")
def test_another_quantity_is_an_operation_of_its_own(tools: ToolClient) -> None:
    asked = [tools.ask(arguments={"sku": "jacket", "quantity": number}) for number in (1, 2, 3)]

    assert len({one["operation_id"] for one in asked}) == 3


@pytest.fixture
def one_order(own: OwnServer, tools: ToolClient) -> ToolClient:
    """A tool whose calls are all about one action."""

    def terms(request: Any, quantity: int) -> Terms:
        return Terms({"quantity": quantity}, same_action="the order")

    @own.server.tool()
    @own.action().tool(terms=terms)
    def one_order(quantity: int, ctx: Context) -> str:
        """Order something."""
        ordered = operation_of(ctx).terms["quantity"]
        Effect.objects.create(kind="one", key=str(ordered))
        return f"Ordered {ordered}."

    tools.server, tools.tool = own.server, "one_order"
    return tools


@pytest.mark.requirement("OPS-3-21", "OPS-3-23", "OPS-3-26", "OPS-5-03")
@pytest.mark.ambiguity("AMB-18")
def test_amb_18_what_the_site_calls_one_action_is_performed_once(
    one_order: ToolClient, effects: Effects
) -> None:
    one, two = {"quantity": 1}, {"quantity": 2}
    first = one_order.ask(arguments=one)
    second = operation_in(one_order.approve(first, arguments=two))
    assert second["operation_id"] == first["operation_id"]
    assert second["revision"] != first["revision"]
    assert (first["terms"], second["terms"]) == (one, two)
    assert effects() == []

    done = one_order.approve(second, arguments=two)
    again = one_order.approve(first, arguments=one)
    assert not done.is_error
    assert again.model_dump() == done.model_dump()  # The same operation: what it was answered.
    assert effects() == ["one 2"]
