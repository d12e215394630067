"""Attempts that nobody finished: freed by whoever looks once their lease has ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from poppy_operations.lifecycle import claims
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.models import Approval, Operation
from poppy_operations.protocol.ids import new_attempt
from tests.agents import ORDER, SessionOf
from tests.asking import ask, error, recorded
from tests.clock import Clock
from tests.shop.models import Item

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]


def killed(clock: Clock) -> Operation:
    """Leave the one operation as a process does that dies within its run."""
    operation = Operation.objects.get()
    begun = claims.begin(
        operation,
        Approval.objects.latest("received_at"),
        attempt=new_attempt(),
        effects="database",
        lease_s=60,
        now=clock.start,
    )
    assert begun
    return operation


def busy(*_: Any, **__: Any) -> Any:
    """What our own code meets if the database is locked, unreachable or read-only."""
    raise Busy("database is locked")


@pytest.mark.requirement("OPS-6-60", "OPS-6-61")
@pytest.mark.ambiguity("AMB-35")
def test_amb_35_a_database_attempt_past_its_lease_is_freed_by_whoever_looks(
    signed_out: SessionOf, jacket: Item, clock: Clock, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref, _ = recorded(signed_out, browser)
    killed(clock)
    clock.at(seconds=60)
    assert signed_out.status(ref) == "performing"
    further = ask(browser)
    assert further != ref
    clock.at(seconds=61)
    assert signed_out.status(ref) == "approved"
    assert Operation.objects.get().state == Operation.State.OPEN
    assert browser.post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 1


@pytest.mark.ambiguity("AMB-35", "AMB-11")
def test_amb_35_amb_11_past_its_lease_and_its_expiry_it_is_expired(
    signed_out: SessionOf, jacket: Item, clock: Clock
) -> None:
    ref, approval = recorded(signed_out, signed_out.browser())
    killed(clock)
    clock.at(minutes=16)
    assert error(signed_out.endpoint(ref, approval)) == (400, "invalid_request")
    assert error(signed_out.endpoint(ref)) == (400, "invalid_request")


@pytest.mark.ambiguity("AMB-35", "AMB-12")
def test_amb_35_amb_12_an_approval_that_comes_again_frees_it_too(
    signed_out: SessionOf, jacket: Item, clock: Clock
) -> None:
    ref, approval = recorded(signed_out, signed_out.browser())
    killed(clock)
    clock.at(seconds=61)
    assert signed_out.endpoint(ref, approval).status_code == 204
    assert signed_out.status(ref) == "approved"
    assert Approval.objects.count() == 1


@pytest.mark.parametrize("path", ["/buy/", "/form/"])
def test_a_browsers_request_frees_it_and_performs_at_once(
    path: str, signed_out: SessionOf, jacket: Item, clock: Clock, effects: Effects
) -> None:
    browser = signed_out.browser()
    recorded(signed_out, browser, path)
    killed(clock)
    assert "under way" in browser.post(path, ORDER).content.decode()
    clock.at(seconds=61)
    assert browser.post(path, ORDER).status_code == 302
    assert len(effects()) == 1


def test_where_it_cannot_be_freed_it_is_performing(
    signed_out: SessionOf, jacket: Item, clock: Clock, monkeypatch: Any
) -> None:
    ref, _ = recorded(signed_out, signed_out.browser())
    killed(clock)
    clock.at(seconds=61)
    monkeypatch.setattr(claims, "free", busy)
    assert signed_out.status(ref) == "performing"
