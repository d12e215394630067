"""What changes between the moment that a request looks and the moment that it acts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from poppy_operations import Performed, maintenance
from poppy_operations.lifecycle import claims
from poppy_operations.lifecycle.approving import void
from poppy_operations.models import Approval, Operation, Settlement
from tests.agents import ORDER, SessionOf, reference
from tests.shop import operations as declared
from tests.shop.models import Item
from tests.shop.operations import Behaviour

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]


@pytest.mark.parametrize("path", ["/buy/", "/abuy/", "/class/", "/form/", "/refund/"])
def test_an_approval_that_is_voided_after_the_checks_performs_nothing(
    path: str, signed_out: SessionOf, jacket: Item, effects: Effects, monkeypatch: Any
) -> None:
    browser = signed_out.browser()
    _, ref = reference(browser.post(path, ORDER))
    approval = signed_out.approve(ref)
    begin = claims.begin

    def voided_first(*args: Any, **options: Any) -> bool:
        recorded = Approval.objects.select_related("operation").get(voided_at=None)
        assert void(recorded, by="staff", because="by phone", now=timezone.now())
        return begin(*args, **options)

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(claims, "begin", voided_first)
        answer = browser.post(path, ORDER)
    assert answer.status_code == 403
    assert effects() == []
    # The approval cannot be put back; new terms of the same operation can be approved.
    assert signed_out.endpoint(ref, approval).status_code == 400
    _, further = reference(answer)
    again = signed_out.approve(further)
    assert again["operation_id"] == approval["operation_id"]
    assert again["revision"] != approval["revision"]
    assert browser.post(path, ORDER).status_code == 302
    assert len(effects()) == 1


def lose(operation: Any) -> None:
    raise TimeoutError


def test_a_settle_page_of_the_first_attempt_judges_no_later_one(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects
) -> None:
    browser = signed_out.browser()
    browser.raise_request_exception = False
    _, ref = reference(browser.post("/refund/", ORDER))
    signed_out.approve(ref)
    site.before_effect = lose
    assert browser.post("/refund/", ORDER).status_code == 403
    opened = [Operation.objects.get() for _ in range(2)]
    assert maintenance.settle_by_hand(opened[0], None, by="ann", because="I asked.")

    judged: list[bool] = []

    def while_the_second_runs(operation: Any) -> None:
        judged.append(maintenance.settle_by_hand(opened[1], None, by="bob", because="I too."))
        judged.append(maintenance.settle_by_hand(opened[1], Performed(), by="bob", because=""))

    site.before_effect = while_the_second_runs
    assert browser.post("/refund/", ORDER).status_code == 302
    assert judged == [False, False]
    assert (len(effects()), signed_out.status(ref)) == (1, "performed")
    assert Settlement.objects.count() == 1


@pytest.mark.parametrize("path", ["/buy/", "/class/"])
def test_an_attempt_in_the_database_is_freed_though_its_action_reaches_outside_by_now(
    path: str,
    signed_out: SessionOf,
    jacket: Item,
    site: Behaviour,
    effects: Effects,
    monkeypatch: Any,
) -> None:
    browser = signed_out.browser()
    start = timezone.now()
    with time_machine.travel(start, tick=False) as clock:
        _, ref = reference(browser.post(path, ORDER))
        signed_out.approve(ref)
        with monkeypatch.context() as old_process:
            # It begins, and its process dies.
            old_process.setattr(
                "poppy_operations.gate.performing.in_database._enter_transactions", die
            )
            old_process.setattr(
                "poppy_operations.gate.performing.attempt.Attempt.release", lambda run: None
            )
            with pytest.raises(SystemExit):
                browser.post(path, ORDER)
        monkeypatch.setattr(declared.buy, "effects", "external")
        assert signed_out.status(ref) == "performing"
        clock.move_to(start + timedelta(seconds=62))
        assert browser.post(path, ORDER).status_code == 302
    assert (len(effects()), signed_out.status(ref)) == (1, "performed")


def die(*args: Any) -> None:
    raise SystemExit
