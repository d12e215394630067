"""Fixtures of the API's tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, connections

from tests.agents import SessionOf
from tests.api.agents import ApiClient
from tests.api.orders import ApiBehaviour, api
from tests.shop.models import Item


@pytest.fixture(params=[False, True], ids=["autocommit", "atomic-requests"])
def transactions(request: Any, db: None, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Both ways of running Django's views: in autocommit, or each in a transaction."""
    atomic: bool = request.param
    monkeypatch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", atomic)
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", atomic)
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
