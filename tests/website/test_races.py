"""Many requests of browsers at once: one effect for each approval, whatever the database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from threading import Event
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.utils import timezone

from poppy_operations.lifecycle import claims
from poppy_operations.models import Approval, Operation, Performance, Revision
from tests.agents import HOST, ORDER, SessionOf, approval_of, reference
from tests.connections import LONG, together
from tests.shop.models import Effect
from tests.shop.operations import Behaviour

pytestmark = [
    pytest.mark.database,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("own_connections", "jacket"),
]
TOGETHER = 12


def same_browser(browser: Client) -> Client:
    """The same browser for another thread: its cookies."""
    copy = Client(headers={"host": HOST}, raise_request_exception=False)
    copy.cookies.load({name: morsel.value for name, morsel in browser.cookies.items()})
    return copy


def post_together(browser: Client, path: str, count: int = TOGETHER) -> list[Any]:
    browsers = [same_browser(browser) for _ in range(count)]
    return together([partial(browser.post, path, ORDER) for browser in browsers])


def statuses(responses: list[Any]) -> list[int]:
    return sorted(response.status_code for response in responses)


def operation_of(response: Any) -> Operation:
    _, ref = reference(response)
    return Revision.objects.select_related("operation").get(ref=ref).operation


@pytest.mark.requirement("OPS-7-01", "OPS-1-06", "OPS-7-11", "OPS-7-18")
@pytest.mark.ambiguity("AMB-13")
@pytest.mark.parametrize("path", ["/buy/", "/abuy/", "/form/", "/refund/", "/arefund/"])
def test_amb_13_twelve_requests_on_one_approval_are_one_effect_and_one_success(
    path: str, signed_out: SessionOf
) -> None:
    browser = signed_out.browser()
    _, ref = reference(browser.post(path, ORDER))
    approval = signed_out.approve(ref)
    responses = post_together(browser, path)
    assert Effect.objects.count() == 1
    assert Performance.objects.count() == 1
    found = statuses(responses)
    assert found.count(302) == 1
    # SQLite has one lock, and asks browsers to come again; never a fault, never a second effect.
    assert set(found) <= ({302, 403, 503} if connection.vendor == "sqlite" else {302, 403})
    for response in responses:
        if response.status_code == 403:
            operation = operation_of(response)
            is_same = operation.operation_id == approval["operation_id"]
            # Of the same operation while it was performed, of a new one after that.
            assert is_same or operation.state == "open"
    assert signed_out.status(ref) == "performed"
    assert Operation.objects.exclude(slot=None).count() <= 1


@pytest.mark.parametrize("path", ["/buy/", "/abuy/", "/orders/7/exchange/"])
def test_twelve_asks_are_one_operation(
    path: str, signed_in: SessionOf, signed_out: SessionOf
) -> None:
    browser = (signed_in if "orders" in path else signed_out).browser()
    responses = post_together(browser, path)
    assert set(statuses(responses)) <= {403, 503}
    asked = [response for response in responses if response.status_code == 403]
    assert asked
    assert len({operation_of(response).pk for response in asked}) == 1
    assert Operation.objects.count() == 1
    assert Effect.objects.count() == 0


@pytest.mark.requirement("OPS-6-58")
@pytest.mark.ambiguity("AMB-14")
def test_amb_14_requests_use_one_record_each_and_the_first_recorded_first(
    signed_out: SessionOf,
) -> None:
    browser = signed_out.browser()
    refs = [reference(browser.post("/each/", ORDER))[1] for _ in range(3)]
    start = timezone.now()
    with time_machine.travel(start, tick=False) as clock:
        for number, ref in enumerate([refs[1], refs[0], refs[2]]):
            clock.move_to(start + timedelta(seconds=number))
            signed_out.approve(ref)
        assert browser.post("/each/", ORDER).status_code == 302
        assert [signed_out.status(ref) for ref in refs] == ["approved", "performed", "approved"]
        assert browser.post("/each/", ORDER).status_code == 302
        assert [signed_out.status(ref) for ref in refs] == ["performed", "performed", "approved"]
    assert Effect.objects.count() == 2


@pytest.mark.requirement("OPS-7-01")
@pytest.mark.ambiguity("AMB-14")
@pytest.mark.parametrize("approvals", [2, 3])
def test_amb_14_a_lost_claim_takes_the_next_record(signed_out: SessionOf, approvals: int) -> None:
    browser = signed_out.browser()
    refs = [reference(browser.post("/each/", ORDER))[1] for _ in range(approvals)]
    for ref in refs:
        signed_out.approve(ref)
    responses = post_together(browser, "/each/", approvals)
    performed = statuses(responses).count(302)
    assert Effect.objects.count() == Performance.objects.count() == performed
    assert performed >= 1
    # A request that met a busy database comes again, and finds the record that is left.
    for _ in range(approvals - performed):
        assert browser.post("/each/", ORDER).status_code == 302
    assert {signed_out.status(ref) for ref in refs} == {"performed"}
    assert browser.post("/each/", ORDER).status_code == 403
    assert Effect.objects.count() == approvals


def test_a_claim_that_was_lost_meanwhile_takes_the_next_record(
    signed_out: SessionOf, monkeypatch: Any
) -> None:
    browser = signed_out.browser()
    refs = [reference(browser.post("/each/", ORDER))[1] for _ in range(2)]
    approvals = [signed_out.approve(ref) for ref in refs]
    original = claims.begin
    first: list[int] = []

    def overtaken(operation: Operation, *args: Any, **options: Any) -> bool:
        if not first:
            first.append(1)
            assert operation.operation_id == approvals[0]["operation_id"]
            with ThreadPoolExecutor(1) as pool:
                other = pool.submit(elsewhere).result()
            assert other.status_code == 302
        return original(operation, *args, **options)

    def elsewhere() -> Any:
        try:
            return same_browser(browser).post("/each/", ORDER)
        finally:
            connection.close()

    monkeypatch.setattr(claims, "begin", overtaken)
    assert browser.post("/each/", ORDER).status_code == 302
    assert [signed_out.status(ref) for ref in refs] == ["performed", "performed"]
    assert Effect.objects.count() == 2


@pytest.mark.requirement("OPS-7-08", "OPS-7-19")
@pytest.mark.ambiguity("AMB-13")
@pytest.mark.parametrize("path", ["/buy/", "/abuy/", "/refund/", "/arefund/"])
def test_amb_13_a_repeat_during_the_action_gets_a_reference_of_the_same_operation(
    path: str, signed_out: SessionOf, site: Behaviour
) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("the action holds SQLite's one lock")
    browser = signed_out.browser()
    _, ref = reference(browser.post(path, ORDER))
    approval = signed_out.approve(ref)
    inside, go_on = Event(), Event()
    site.after_effect = lambda operation: (inside.set(), go_on.wait(LONG))
    other = same_browser(browser)

    def first() -> Any:
        try:
            return other.post(path, ORDER)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(first)
        try:
            assert inside.wait(LONG)
            assert signed_out.status(ref) == "performing"
            repeated = browser.post(path, ORDER)
            again = browser.post(path, ORDER)
        finally:
            go_on.set()
        done = running.result(LONG)
    assert (done.status_code, repeated.status_code) == (302, 403)
    assert operation_of(repeated).operation_id == approval["operation_id"]
    assert reference(again) == reference(repeated)
    assert signed_out.status(ref) == "performed"
    assert signed_out.status(reference(repeated)[1]) == "performed"
    assert Effect.objects.count() == 1


@pytest.mark.requirement("OPS-7-01")
@pytest.mark.parametrize("path", ["/buy/", "/abuy/", "/form/"])
@pytest.mark.parametrize("performs", [True, False])
def test_an_attempt_that_outlives_its_lease_is_rolled_back_where_it_was_taken_over(
    path: str, performs: bool, signed_out: SessionOf, site: Behaviour
) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("the action holds SQLite's one lock, and commits")
    start = timezone.now()
    with time_machine.travel(start, tick=False) as clock:
        browser = signed_out.browser()
        _, ref = reference(browser.post(path, ORDER))
        signed_out.approve(ref)
        inside, go_on = Event(), Event()
        calls: list[str] = []

        def slow_at_first(operation: Any) -> None:
            calls.append("body")
            if len(calls) == 1:
                inside.set()
                go_on.wait(LONG)

        site.after_effect = slow_at_first
        other = same_browser(browser)

        def first() -> Any:
            try:
                return other.post(path, ORDER)
            finally:
                connection.close()

        with ThreadPoolExecutor(1) as pool:
            slow = pool.submit(first)
            try:
                assert inside.wait(LONG)
                clock.move_to(start + timedelta(seconds=62))
                if performs:
                    assert browser.post(path, ORDER).status_code == 302
                else:
                    assert signed_out.status(ref) == "approved"
            finally:
                go_on.set()
            late = slow.result(LONG)
        if performs:
            # The stored status and headers of the other one's redirect.
            assert (late.status_code, late["Location"]) == (302, "/done/")
        else:
            assert late.status_code == 503
            assert browser.post(path, ORDER).status_code == 302
    assert Effect.objects.count() == Performance.objects.count() == 1


def test_an_attempt_that_outlives_its_lease_and_was_not_taken_over_commits(
    signed_out: SessionOf, site: Behaviour
) -> None:
    start = timezone.now()
    with time_machine.travel(start, tick=False) as clock:
        browser = signed_out.browser()
        _, ref = reference(browser.post("/buy/", ORDER))
        signed_out.approve(ref)
        site.after_effect = lambda operation: clock.move_to(start + timedelta(minutes=10))
        assert browser.post("/buy/", ORDER).status_code == 302
    assert Effect.objects.count() == 1


@pytest.mark.ambiguity("AMB-12")
def test_amb_12_one_approval_sent_twelve_times_at_once_is_recorded_once(
    signed_out: SessionOf,
) -> None:
    _, ref = reference(signed_out.browser().post("/buy/", ORDER))
    approval = approval_of(signed_out.look_up(ref))
    sessions = [SessionOf(signed_out.agent, signed_out.issuer) for _ in range(TOGETHER)]
    responses = together([partial(session.endpoint, ref, approval) for session in sessions])
    assert set(statuses(responses)) <= {204, 503}
    assert 204 in statuses(responses)
    assert Approval.objects.count() == 1
    assert signed_out.status(ref) == "approved"
