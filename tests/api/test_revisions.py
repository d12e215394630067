"""Which revision an API returns, and that nothing is begun before one is approved (3)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from poppy_operations import Terms
from poppy_operations.models import Revision
from tests.agents import ORDER, ApiClient, approval_of, operation_in
from tests.clock import Clock
from tests.shop.models import Item
from tests.shop.operations import Behaviour
from tests.shop.orders import ApiBehaviour

pytestmark = pytest.mark.usefixtures("transactions")
Effects = Callable[[], list[str]]


@pytest.mark.requirement("OPS-1-01", "OPS-3-20", "OPS-4-01")
@pytest.mark.parametrize("path", ["/api/class/", "/api/plain/", "/api/transfer/"])
def test_no_part_of_the_action_begins_before_its_approval_has_come(
    path: str, agents_api: ApiClient, site: Behaviour, effects: Effects
) -> None:
    begun: list[str] = []
    site.before_effect = lambda operation: begun.append(operation.action)
    operation = agents_api.ask(path=path)
    never = {**approval_of(operation), "revision": "1-never-returned"}
    other = {**ORDER, "quantity": 2}

    assert operation_in(agents_api.send(path=path)) == operation
    assert operation_in(agents_api.send(never, path=path))
    assert operation_in(agents_api.approve(operation, path=path, body=other))
    assert agents_api.send(path=path, declared=False).status_code == 403
    assert begun == effects() == []

    assert agents_api.approve(operation, path=path).status_code in {200, 201}
    assert len(begun) == len(effects()) == 1


@pytest.mark.requirement("OPS-3-08", "OPS-3-09", "OPS-3-29")
def test_a_later_expiry_is_another_revision(agents_api: ApiClient, clock: Clock) -> None:
    first = agents_api.ask()
    clock.at(minutes=7, seconds=30)  # half of its lifetime is left
    assert agents_api.ask() == first
    clock.at(minutes=7, seconds=31)
    second = agents_api.ask()

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
    agents_api: ApiClient, shop: ApiBehaviour, effects: Effects
) -> None:
    said = iter(["A jacket.", "One jacket.", None, None])
    terms = {"sku": "jacket", "quantity": 1}
    shop.terms = lambda request: Terms(terms, summary=next(said))
    operation = agents_api.ask()

    assert agents_api.ask() == operation
    assert agents_api.approve(operation).status_code == 201
    assert effects() == ["api.order 1 jacket"]


@pytest.mark.requirement("OPS-3-05", "OPS-3-22", "OPS-3-24", "OPS-5-02", "OPS-8.1-02")
def test_each_price_has_a_revision_of_its_own_whose_terms_stay(
    agents_api: ApiClient, effects: Effects
) -> None:
    def at(price: str) -> dict[str, Any]:
        Item.objects.update(price=Decimal(price))
        return agents_api.ask()

    cheap, dear = at("70.00"), at("75.00")
    assert dear["operation_id"] == cheap["operation_id"]
    assert dear["revision"] != cheap["revision"]
    assert operation_in(agents_api.approve(cheap)) == dear
    assert effects() == []
    assert at("70.00") == cheap

    stored = Revision.objects.order_by("number").values_list("revision", "terms")
    assert [(revision, json.loads(terms)) for revision, terms in stored] == [
        (one["revision"], one["terms"]) for one in (cheap, dear)
    ]
    assert agents_api.approve(cheap).status_code == 201
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-3-04", "OPS-3-06", "OPS-3-21")
def test_what_the_site_calls_one_action_keeps_its_operation_and_nothing_else_gets_it(
    agents_api: ApiClient,
) -> None:
    two = {**ORDER, "quantity": 2}
    first = agents_api.ask(path="/api/one-order/")
    second = agents_api.ask(path="/api/one-order/", body=two)
    others = [agents_api.ask(), agents_api.ask(body=two), agents_api.ask(path="/api/transfer/")]

    assert second["operation_id"] == first["operation_id"]
    assert second["revision"] != first["revision"]
    assert (first["terms"]["quantity"], second["terms"]["quantity"]) == (1, 2)
    assert len({one["operation_id"] for one in (first, *others)}) == 4
