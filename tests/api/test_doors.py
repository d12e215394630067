"""One action behind every kind of view, in whatever order its decorators stand."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from django.http import HttpResponse, StreamingHttpResponse
from django.test import Client

from poppy_operations.declarations.registry import registry
from poppy_operations.models import Operation
from tests.agents import ORDER, ApiClient
from tests.shop.orders import ApiBehaviour

pytestmark = pytest.mark.usefixtures("transactions")
Effects = Callable[[], list[str]]
DOORS = [
    ("POST", "/api/function/"),
    ("POST", "/api/class/"),
    ("PUT", "/api/class/"),
    ("POST", "/api/bound/"),
    ("POST", "/api/decorated/"),
    ("POST", "/api/generic/"),
    ("POST", "/api/viewset/"),
    ("PUT", "/api/viewset/1/"),
    ("PATCH", "/api/viewset/1/"),
    ("POST", "/api/viewset/1/cancel/"),
    ("POST", "/api/viewset/1/refund/"),
    ("POST", "/api/plain/"),
    ("POST", "/api/aplain/"),
    ("POST", "/api/all-async/"),
    ("POST", "/api/bare/"),
    ("POST", "/api/transfer/"),
]


@pytest.mark.requirement("OPS-1-03", "OPS-4-01", "OPS-6-15", "OPS-6-51", "OPS-7-02")
@pytest.mark.parametrize(("method", "path"), DOORS)
def test_an_approved_request_is_performed_once_and_answered_as_without_approval(
    method: str, path: str, agents_api: ApiClient, effects: Effects
) -> None:
    operation = agents_api.ask(method=method, path=path)
    assert operation["terms"] == {
        "sku": "jacket",
        "quantity": 1,
        "total": {"amount": "70.00", "currency": "USD"},
    }
    assert effects() == []

    performed = agents_api.approve(operation, method=method, path=path)
    assert performed.status_code in {200, 201}
    assert performed.json() == ORDER
    assert len(effects()) == 1

    again = agents_api.approve(operation, method=method, path=path)
    assert (again.status_code, again.content) == (performed.status_code, performed.content)
    assert len(effects()) == 1


@pytest.mark.parametrize(("method", "path"), DOORS)
def test_ordinary_callers_notice_nothing(
    method: str,
    path: str,
    shop: ApiBehaviour,
    client: Client,
    effects: Effects,
    transactions: bool,
) -> None:
    request = partial(client.generic, method, path, '{"sku": "jacket"}', "application/json")
    if path in {"/api/aplain/", "/api/all-async/"} and transactions:
        with pytest.raises(RuntimeError, match="ATOMIC_REQUESTS with async views"):
            request()  # which Django itself refuses
        assert effects() == []
        return
    response = request()

    assert response.status_code in {200, 201}
    assert len(effects()) == 1
    assert not Operation.objects.exists()


@pytest.mark.requirement("OPS-1-07")
@pytest.mark.parametrize("path", ["/api/function/", "/api/class/"])
def test_what_needs_no_approval_is_answered_at_once(path: str, agents_api: ApiClient) -> None:
    response = agents_api.send(method="GET", path=path, body="")

    assert (response.status_code, response.json()) == (200, {"orders": []})
    assert not Operation.objects.exists()


@pytest.mark.requirement("OPS-1-08")
def test_an_api_needs_no_url_beside_its_own(
    agents_api: ApiClient, effects: Effects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(registry), "on_website", False)
    operation = agents_api.ask()

    assert agents_api.send(path="/poppy/operations", body={"ref": "any"}).status_code == 404
    assert agents_api.approve(operation).status_code == 201
    assert len(effects()) == 1


def test_the_functions_of_a_class_get_the_view(agents_api: ApiClient, shop: ApiBehaviour) -> None:
    shop.answer = lambda operation: StreamingHttpResponse([b"once"])
    for name in ("bound", "decorated"):
        shop.asked_of.clear()
        path = f"/api/{name}/"
        operation = agents_api.ask(path=path)
        assert shop.asked_of == [name, name]
        agents_api.approve(operation, path=path)
        assert agents_api.approve(operation, path=path).json()["again"] is True
        assert set(shop.asked_of) == {name}


@pytest.mark.requirement("OPS-3-01")
def test_an_action_inside_another_one_is_refused_and_nothing_is_done(
    agents_api: ApiClient, effects: Effects
) -> None:
    path = "/api/viewset/mixed/"
    operation = agents_api.ask(path=path)

    with pytest.raises(RuntimeError, match=r"api\.order was called inside api\.extra"):
        agents_api.approve(operation, path=path)
    assert effects() == []
    assert Operation.objects.get().state == Operation.State.OPEN


def test_ordinary_callers_may_mix_actions(
    shop: ApiBehaviour, client: Client, effects: Effects
) -> None:
    response = client.post("/api/viewset/mixed/", {"sku": "jacket"})

    assert response.status_code == 201
    assert effects() == ["api.order 1 jacket"]


def test_a_view_that_answers_nothing_fails_inside_its_run(
    agents_api: ApiClient, shop: ApiBehaviour, effects: Effects
) -> None:
    shop.answer = lambda operation: None  # type: ignore[arg-type,return-value]
    operation = agents_api.ask(path="/api/plain/")
    with pytest.raises(TypeError, match="plain returned NoneType, not an HttpResponse"):
        agents_api.approve(operation, path="/api/plain/")
    assert effects() == []

    operation = agents_api.ask(path="/api/transfer/")
    agents_api.session.client.raise_request_exception = False
    response = agents_api.approve(operation, path="/api/transfer/")
    assert (response.status_code, response.json()["status"]) == (503, "performing")
    assert effects() == ["api.transfer 1 jacket"]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_async_view_may_have_async_functions_beside_it(
    method: str, agents_api: ApiClient, shop: ApiBehaviour, effects: Effects
) -> None:
    shop.answer = lambda operation: StreamingHttpResponse([b"once"])
    request = {"method": method, "path": "/api/all-async/"}
    operation = agents_api.ask(**request)
    assert agents_api.approve(operation, **request).status_code == 200
    assert agents_api.approve(operation, **request).json() == {"sku": "jacket", "again": True}
    assert len(effects()) == 1

    shop.allowed = lambda request: HttpResponse("not yours", status=404)
    assert agents_api.approve(operation, **request).status_code == 404


def test_methods_that_are_not_named_are_not_behind_the_gate(
    agents_api: ApiClient, effects: Effects, transactions: bool
) -> None:
    request = {"method": "PUT", "path": "/api/all-async/"}
    refusal = "ATOMIC_REQUESTS with async" if transactions else "This PUT request did not come"
    with pytest.raises(RuntimeError, match=refusal):
        agents_api.send(**request)
    assert effects() == []
