"""Nothing depends on a cache: one that forgets everything at every moment changes no answer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection

from poppy_operations.models import Operation
from tests.agents import SessionOf
from tests.interleavings.requests import PATHS, Approved
from tests.shop.models import Item
from tests.shop.orders import api

pytestmark = pytest.mark.django_db


def forget(execute: Callable[..., Any], *args: Any) -> Any:
    cache.clear()
    return execute(*args)


@pytest.mark.slow
@pytest.mark.parametrize("sessions", ["db", "cached_db"])
@pytest.mark.parametrize("path", PATHS)
def test_a_cache_that_is_cleared_at_every_statement_changes_nothing(
    path: str, sessions: str, signed_in: SessionOf, jacket: Item, settings: Any
) -> None:
    settings.SESSION_ENGINE = f"django.contrib.sessions.backends.{sessions}"
    api.reset()
    told = []
    for quantity, forgets in enumerate([False, True], start=1):
        with ExitStack() as stack:
            if forgets:
                stack.enter_context(connection.execute_wrapper(forget))
            order = Approved(signed_in, signed_in.browser(), path, quantity)
            before = order.times
            first = order.send()
            again = order.send()
        told.append((before, first.status_code, again.status_code, order.times))
    assert told[0] == told[1]
    assert told[0] == (0, order.performed, 201 if order.is_api else 403, 1)
    assert Operation.objects.filter(state="performed").count() == 2
