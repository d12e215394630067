"""One action behind every kind of view, in whatever order its decorators stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from poppy_operations.models import Operation
from tests.agents import approval_of
from tests.api.agents import ORDER, ApiClient, operation_in
from tests.api.orders import ApiBehaviour

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
    ("POST", "/api/bare/"),
    ("POST", "/api/transfer/"),
]


@pytest.mark.requirement("OPS-1-03", "OPS-4-01", "OPS-6-15", "OPS-6-51", "OPS-7-02", "OPS-1-08")
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
