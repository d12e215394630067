"""Every interface that is advertised serves, and nothing is returned on others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from poppy_operations.advertising import operations_fragment
from poppy_operations.declarations.registry import registry
from poppy_operations.models import Approval, Operation
from poppy_operations.protocol.structured import declares_operations
from tests.agents import HOST, ORDER, ApiClient, SessionOf, approval_of, reference
from tests.asking import ask, is_refused_with
from tests.shop.models import Item

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]


@pytest.mark.requirement("OPS-1-10")
def test_what_is_listed_and_what_is_declared_have_one_name_and_version(
    signed_out: SessionOf,
) -> None:
    [entry] = operations_fragment()["operations"]
    header = signed_out.headers()["Poppy-Extensions"]
    assert entry["version"] == "3"
    assert header == f'"operations";v="{entry["version"]}"'
    assert declares_operations(header)


@pytest.mark.requirement("OPS-2-09", "OPS-2-18")
@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("declared", [True, False])
def test_an_operation_is_returned_only_where_it_is_listed_and_declared(
    declared: bool, listed: bool, signed_out: SessionOf, jacket: Item, monkeypatch: Any
) -> None:
    signed_out.declared = declared
    for action in registry:
        monkeypatch.setattr(action, "website", listed)
    [entry] = operations_fragment()["operations"]
    assert entry["version"] == "3"
    assert ("endpoint" in entry) == listed
    response = signed_out.browser().post("/buy/", ORDER)
    assert response.status_code == 403
    assert ("Poppy-Operation" in response) == (listed and declared)
    assert Operation.objects.exists() == (listed and declared)
    # An API is listed by the version alone.
    assert ("operation" in ApiClient(signed_out).send().json()) == declared


@pytest.mark.requirement("OPS-1-09", "OPS-6-36")
def test_the_operation_is_at_the_endpoint_and_its_effect_at_the_browser(
    signed_out: SessionOf, jacket: Item, effects: Effects
) -> None:
    browser = signed_out.browser()
    refused = browser.post("/buy/", ORDER)
    ref = reference(refused)[1]
    operation = signed_out.look_up(ref)
    assert is_refused_with(signed_out.endpoint(ref), operation)
    response = signed_out.endpoint(ref, approval_of(operation))
    assert (response.status_code, response.content) == (204, b"")
    assert Approval.objects.count() == 1
    assert effects() == []
    # Nobody but a browser of the Session performs it.
    assert Client(headers={"host": HOST}).get("/buy/").status_code == 200
    assert effects() == []


@pytest.mark.requirement("OPS-2-07")
def test_every_interface_offered_has_the_whole_loop(
    signed_in: SessionOf, jacket: Item, effects: Effects
) -> None:
    browser = signed_in.browser()
    ref = ask(browser)
    signed_in.approve(ref)
    assert browser.post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 1
    assert browser.post("/buy/", ORDER).status_code == 403
    assert signed_in.status(ref) == "performed"

    api = ApiClient(signed_in)
    operation = api.ask()
    performed = api.approve(operation)
    assert performed.status_code == 201
    again = api.approve(operation)
    assert (again.status_code, again.content) == (201, performed.content)
    assert len(effects()) == 2
