"""Answers below 400 that hold a serializer's errors: nothing happened (7, AMB-15)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.template.response import TemplateResponse
from rest_framework.response import Response

from poppy_operations import NotPerformed
from poppy_operations.models import Operation
from tests.agents import ApiClient
from tests.shop.operations import Behaviour, OrderForm
from tests.shop.orders import ApiBehaviour, OrderRequest

pytestmark = pytest.mark.usefixtures("transactions")
Effects = Callable[[], list[str]]
WRONG = {"quantity": "many"}


def judged(data: Any, *, many: bool = False) -> Any:
    """A serializer that was asked whether its data are valid."""
    serializer = OrderRequest(data=data, many=many)
    serializer.is_valid()
    return serializer


ERRORS: dict[str, Callable[[], Any]] = {
    "errors": lambda: judged(WRONG).errors,
    "errors of one of many": lambda: judged([{"sku": "jacket"}, WRONG], many=True).errors,
    "errors by name": lambda: {"errors": judged(WRONG).errors, "status": "error"},
    "data with errors": lambda: judged(WRONG).data,
}
NONE: dict[str, Callable[[], Any]] = {
    "data": lambda: judged({"sku": "jacket"}).data,
    "data of many": lambda: judged([{"sku": "jacket"}], many=True).data,
    "what only shows": lambda: OrderRequest({"sku": "jacket", "quantity": 1}).data,
    "no errors": lambda: {"errors": judged({"sku": "jacket"}).errors},
    "a list": lambda: ["jacket"],
    "nothing": lambda: None,
}


@pytest.mark.ambiguity("AMB-15")
@pytest.mark.parametrize("path", ["/api/class/", "/api/function/", "/api/transfer/"])
@pytest.mark.parametrize("kind", list(ERRORS))
def test_amb_15_a_serializers_errors_say_that_nothing_happened(
    kind: str, path: str, agents_api: ApiClient, shop: ApiBehaviour, effects: Effects
) -> None:
    operation = agents_api.ask(path=path)
    shop.answer = lambda _: Response(ERRORS[kind]())
    answer = agents_api.approve(operation, path=path)
    assert answer.status_code == 200
    assert Operation.objects.get().state == "open"
    assert len(effects()) == (path == "/api/transfer/")
    shop.answer = None
    assert agents_api.approve(operation, path=path).status_code == 201
    assert Operation.objects.get().state == "performed"


@pytest.mark.parametrize("path", ["/api/class/", "/api/transfer/"])
@pytest.mark.parametrize("kind", list(NONE))
def test_data_without_errors_say_that_it_was_performed(
    kind: str, path: str, agents_api: ApiClient, shop: ApiBehaviour, effects: Effects
) -> None:
    operation = agents_api.ask(path=path)
    shop.answer = lambda _: Response(NONE[kind]())
    assert agents_api.approve(operation, path=path).status_code == 200
    assert Operation.objects.get().state == "performed"
    assert len(effects()) == 1


def test_a_page_with_errors_says_so_at_an_api_too(
    agents_api: ApiClient, shop: ApiBehaviour, effects: Effects
) -> None:
    operation = agents_api.ask(path="/api/plain/")
    form = {"form": OrderForm({"sku": ""})}
    shop.answer = lambda _: TemplateResponse(None, "shop/form.html", form)
    assert agents_api.approve(operation, path="/api/plain/").status_code == 200
    assert Operation.objects.get().state == "open"
    assert effects() == []


@pytest.mark.parametrize("path", ["/api/class/", "/api/function/", "/api/plain/", "/api/aplain/"])
def test_nothing_stays_of_an_action_that_says_so_if_it_needs_no_approval(
    path: str, agents_api: ApiClient, shop: ApiBehaviour, site: Behaviour, effects: Effects
) -> None:
    def after_all(_operation: Any) -> None:
        raise NotPerformed

    shop.needed = False
    site.after_effect = after_all
    assert agents_api.send(path=path).status_code == 409
    assert effects() == []
    site.after_effect = lambda _operation: None
    assert agents_api.send(path=path).status_code == 201
    assert len(effects()) == 1
