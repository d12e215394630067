"""A PostgreSQL server that takes no writes at some moment, as one that is a replica by now."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from poppy_operations.models import Operation
from tests.agents import SessionOf
from tests.interleavings.requests import OUTSIDE, PATHS, Approved
from tests.shop.models import Item
from tests.shop.operations import Behaviour
from tests.shop.orders import api

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


def takes(what: str) -> None:
    """Let the server take that from now on: ``READ ONLY`` or ``READ WRITE``."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET SESSION CHARACTERISTICS AS TRANSACTION {what}")


@pytest.fixture(autouse=True)
def _server() -> Iterator[None]:
    if connection.vendor != "postgresql":
        pytest.skip("the others call it an operational error")
    api.reset()
    yield
    takes("READ WRITE")


@pytest.fixture
def order(signed_in: SessionOf, jacket: Item, site: Behaviour, request: Any) -> Approved:
    """One approved order, at the address of the test."""
    return Approved(signed_in, signed_in.browser(), request.node.callspec.params["path"])


@pytest.mark.parametrize("path", PATHS)
def test_a_server_that_takes_no_writes_before_the_claim_performs_nothing(
    path: str, order: Approved
) -> None:
    takes("READ ONLY")
    answer = order.send()
    takes("READ WRITE")
    assert (answer.status_code, order.times) == (503, 0)
    assert order.send().status_code == order.performed


@pytest.mark.requirement("OPS-7-08")
@pytest.mark.parametrize("path", sorted(OUTSIDE))
def test_a_server_that_takes_no_writes_after_an_effect_outside_is_no_fault(
    path: str, order: Approved, site: Behaviour
) -> None:
    site.after_effect = lambda _operation: takes("READ ONLY")
    answer = order.send()
    takes("READ WRITE")
    assert (answer.status_code, order.times) == (order.performed, 1)
    assert Operation.objects.get().state == "performing"  # until reconcile finds out


@pytest.mark.parametrize("path", ["/buy/"])
def test_a_look_up_that_cannot_free_a_lapsed_attempt_answers_as_if_it_had_not_tried(
    path: str, order: Approved
) -> None:
    now = timezone.now()
    Operation.objects.update(
        state="performing",
        effects="database",
        lease_s=60,
        started_at=now - timedelta(minutes=2),
        lease_until=now - timedelta(minutes=1),
    )
    takes("READ ONLY")
    (ref,) = Operation.objects.values_list("revisions__ref", flat=True)
    answer = order.session.endpoint(ref)
    assert (answer.status_code, answer.json()["status"]) == (200, "performing")
