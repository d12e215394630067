"""An action that is slower than its lease, three times over."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from threading import Event
from typing import Any

import pytest
import time_machine
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from poppy_operations.models import Operation, Performance
from tests.agents import HOST, ORDER, SessionOf, reference
from tests.shop.models import Effect, Item
from tests.shop.operations import Behaviour

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]
LONG = 60  # seconds that nothing takes, so that a fault ends the test
LEASES = (60, 120, 240)


@pytest.mark.requirement("OPS-7-01")
@pytest.mark.parametrize("path", ["/buy/", "/abuy/"])
@pytest.mark.parametrize("ends", ["first to last", "last to first"])
def test_three_slow_attempts_and_one_that_is_in_time_have_one_effect(
    path: str, ends: str, signed_out: SessionOf, jacket: Item, site: Behaviour
) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("the action holds SQLite's one lock: nobody can take it over")
    inside, go_on = [Event() for _ in LEASES], [Event() for _ in LEASES]
    calls: list[int] = []
    hooks: list[int] = []

    def slow(operation: Any) -> None:
        number = len(calls)
        calls.append(number)
        transaction.on_commit(lambda: hooks.append(number))
        if number < len(LEASES):
            inside[number].set()
            assert go_on[number].wait(LONG)

    site.after_effect = slow
    browser = signed_out.browser()
    now = timezone.now()
    with time_machine.travel(now, tick=False) as clock, ThreadPoolExecutor(3) as pool:
        _, ref = reference(browser.post(path, ORDER))
        signed_out.approve(ref)
        running: list[Future[Any]] = []
        try:
            for number, lease in enumerate(LEASES):
                running.append(pool.submit(sending(browser, path)))
                assert inside[number].wait(LONG)
                assert Operation.objects.get().lease_s == lease
                now += timedelta(seconds=lease + 2)
                clock.move_to(now)
            performed = browser.post(path, ORDER)
        finally:
            for event in go_on if ends == "first to last" else reversed(go_on):
                event.set()
        late = [future.result(LONG) for future in running]
    assert performed.status_code == 302
    # They answer for the one that performed, by its stored status and headers.
    assert {(answer.status_code, answer["Location"]) for answer in late} == {(302, "/done/")}
    assert Effect.objects.count() == Performance.objects.count() == 1
    assert hooks == [3]


def sending(browser: Client, path: str) -> Callable[[], Any]:
    tab = Client(headers={"host": HOST})
    tab.cookies.load({name: morsel.value for name, morsel in browser.cookies.items()})

    def send() -> Any:
        try:
            return tab.post(path, ORDER)
        finally:
            connection.close()

    return send
