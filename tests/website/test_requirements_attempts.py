"""Attempts that were given up, and handlers of classes that validate before they ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError
from django.http import HttpResponse

from poppy_operations.declarations.registry import registry
from poppy_operations.lifecycle import claims
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.models import Approval, Operation
from poppy_operations.protocol.ids import new_attempt
from tests.agents import SessionOf, approval_of, reference
from tests.shop import operations as shop
from tests.shop.models import Item
from tests.shop.operations import Behaviour
from tests.website.asking import ORDER, TWO, ask, error, quiet, recorded
from tests.website.conftest import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.website.site")]
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
    """What our own code meets where the database is in the way."""
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


def test_an_action_that_a_deployment_dropped_can_still_be_approved_and_looked_up(
    signed_out: SessionOf, jacket: Item
) -> None:
    ref = ask(signed_out.browser())
    approval = approval_of(signed_out.look_up(ref))
    registry.discard(shop.buy)
    try:
        assert signed_out.endpoint(ref, approval).status_code == 204
        assert signed_out.status(ref) == "approved"
    finally:
        registry.add(shop.buy)


# Handlers of classes


@pytest.mark.requirement("OPS-4-56")
@pytest.mark.ambiguity("AMB-25")
def test_amb_25_a_gated_class_asks_for_the_right_before_it_validates(
    signed_in: SessionOf, jacket: Item, site: Behaviour, effects: Effects, client: Any, alice: Any
) -> None:
    site.allowed = lambda request: HttpResponse("not yours", status=404)
    browser = signed_in.browser()
    client.force_login(alice)
    for anybody in (browser, client):
        for data in (ORDER, {"sku": ""}):
            response = anybody.post("/guarded/", data)
            assert (response.status_code, response.content) == (404, b"not yours")
    site.allowed = lambda request: None
    ref, _ = recorded(signed_in, browser, "/guarded/")
    site.allowed = lambda request: HttpResponse("not yours", status=404)
    assert browser.post("/guarded/", ORDER).status_code == 404
    assert effects() == []
    assert signed_in.status(ref) == "approved"
    site.allowed = lambda request: None
    assert browser.post("/guarded/", ORDER).status_code == 302
    assert client.post("/guarded/", TWO).status_code == 302
    assert effects() == ["shop.buy 1 jacket", "shop.buy 2 jacket"]


def test_a_gated_class_serves_no_api(signed_out: SessionOf, jacket: Item, effects: Effects) -> None:
    browser = signed_out.browser()
    ask(browser, "/form/")
    response = browser.post("/form/", ORDER, headers=signed_out.headers())
    assert error(response) == (400, "invalid_request")
    response = browser.post("/form/", ORDER, headers={"Poppy-Session": "a.b.c"})
    assert error(response) == (403, "invalid_session")
    assert effects() == []


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


def test_the_endpoint_is_busy_where_an_approval_cannot_be_recorded(
    signed_out: SessionOf, jacket: Item, monkeypatch: Any
) -> None:
    ref = ask(signed_out.browser())
    approval = approval_of(signed_out.look_up(ref))

    def locked(self: Any, **_: Any) -> None:
        raise OperationalError("database is locked")

    with monkeypatch.context() as patched:
        patched.setattr(Approval, "save", locked)
        response = signed_out.endpoint(ref, approval)
    assert error(response) == (503, "temporarily_unavailable")
    assert not Approval.objects.exists()
    assert signed_out.endpoint(ref, approval).status_code == 204


def test_two_equal_approvals_at_once_are_one_record(
    signed_out: SessionOf, jacket: Item, monkeypatch: Any
) -> None:
    ref = ask(signed_out.browser())
    approval = approval_of(signed_out.look_up(ref))
    judged: list[Any] = []

    def meanwhile(*_: Any, **__: Any) -> None:
        if not judged:
            judged.append(None)
            judged.append(signed_out.endpoint(ref, {**approval, "approver": "agent"}))

    monkeypatch.setattr("poppy_operations.gate.references.decline", meanwhile)
    assert signed_out.endpoint(ref, approval).status_code == 204
    assert judged[1].status_code == 204
    assert Approval.objects.get().approver == "agent"


def test_the_reference_of_a_class_is_the_same_as_of_a_function(
    signed_out: SessionOf, jacket: Item
) -> None:
    browser = signed_out.browser()
    first = reference(browser.post("/form/", ORDER))
    assert reference(browser.post("/form/", ORDER)) == first
    assert reference(browser.post("/buy/", ORDER))[1] != first[1]
