"""Fixtures of the API's tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.agents import ApiClient, SessionOf
from tests.connections import be_atomic
from tests.shop.models import Item
from tests.shop.orders import ApiBehaviour, api


@pytest.fixture(params=[False, True], ids=["autocommit", "atomic-requests"])
def transactions(request: Any, db: None, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Both ways of running Django's views: in autocommit, or each in a transaction."""
    atomic: bool = request.param
    be_atomic(monkeypatch, atomic=atomic)
    return atomic


@pytest.fixture
def shop(jacket: Item) -> Iterator[ApiBehaviour]:
    """How the API behaves; there is a jacket to buy."""
    api.reset()
    yield api
    api.reset()


@pytest.fixture
def agents_api(shop: ApiBehaviour, signed_in: SessionOf) -> ApiClient:
    """An agent whose Session is signed in to alice's account."""
    return ApiClient(signed_in)


@pytest.fixture
def signed_out_api(shop: ApiBehaviour, signed_out: SessionOf) -> ApiClient:
    """An agent whose Session is not signed in."""
    return ApiClient(signed_out)
