"""Busy: others are faster, or the database cannot be written; nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from poppy_operations.lifecycle import claims
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.models import Approval, Operation
from poppy_operations.protocol.ids import new_attempt
from tests.agents import ORDER, SessionOf
from tests.asking import ask, error, quiet, recorded
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


@pytest.mark.slow
def test_a_flood_of_others_makes_an_ask_busy_and_nothing_is_lost(
    signed_out: SessionOf, jacket: Item, monkeypatch: Any, effects: Effects
) -> None:
    browser = signed_out.browser()
    with monkeypatch.context() as patched:
        patched.setattr("poppy_operations.gate.returning.asking.return_operation", lambda *_: None)
        response = browser.post("/buy/", ORDER, headers={"Accept": "application/json"})
    assert error(response) == (503, "temporarily_unavailable")
    assert response["Retry-After"] == "1"
    assert "Poppy-Operation" not in response
    assert ask(browser)
    assert effects() == []


@pytest.mark.slow
def test_others_may_be_faster_with_a_further_revision(
    signed_out: SessionOf, jacket: Item, clock: Clock, monkeypatch: Any
) -> None:
    browser = signed_out.browser()
    recorded(signed_out, browser)
    killed(clock)
    with monkeypatch.context() as patched:
        patched.setattr("poppy_operations.gate.returning.asking.return_revision", lambda *_: None)
        response = browser.post("/buy/", ORDER)
    # Nobody says that it failed, and nobody is asked to approve what is under way.
    assert (response.status_code, "Poppy-Operation" in response) == (503, False)
    assert response["Retry-After"] == "2"


def test_an_undeclared_browser_gets_no_further_reference_either(
    signed_out: SessionOf, jacket: Item, clock: Clock
) -> None:
    recorded(signed_out, signed_out.browser())
    killed(clock)
    undeclared = SessionOf(signed_out.agent, signed_out.issuer, declared=False)
    response = undeclared.browser().post("/buy/", ORDER)
    assert (response.status_code, "Poppy-Operation" in response) == (503, False)


@pytest.mark.requirement("OPS-7-17")
@pytest.mark.parametrize("path", ["/buy/", "/form/"])
def test_where_the_database_is_in_the_way_it_is_busy_and_stays_approved(
    path: str, signed_out: SessionOf, jacket: Item, monkeypatch: Any, effects: Effects
) -> None:
    browser = signed_out.browser(quiet())
    ref, _ = recorded(signed_out, browser, path)
    for place in ("gate.decision.live_revisions", "gate.decision.Wanted.of"):
        with monkeypatch.context() as patched:
            patched.setattr(f"poppy_operations.{place}", busy)
            response = browser.post(path, ORDER)
        assert response.status_code == 503
        assert response["Retry-After"] == "1"
        assert "Poppy-Operation" not in response
    assert effects() == []
    assert signed_out.status(ref) == "approved"
    assert browser.post(path, ORDER).status_code == 302
    assert len(effects()) == 1
