"""The database fails at any one moment of a request: one effect, and 503 where there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import OperationalError, connection
from django.utils import timezone

from poppy_operations import maintenance
from poppy_operations.declarations.outcomes import NotPerformed, Performed
from poppy_operations.lifecycle.approving import void
from poppy_operations.models import Approval, Operation, Settlement
from poppy_operations.signals import operation_performed, operation_settled
from tests.agents import SessionOf
from tests.interleavings.requests import OUTSIDE, PATHS, Approved
from tests.lifecycle.rows import told_by
from tests.shop.models import Item
from tests.shop.operations import Behaviour
from tests.shop.orders import api, transfer

MOST = 40  # statements that no request needs
GONE = "server closed the connection unexpectedly"


@pytest.fixture
def approved(
    signed_in: SessionOf, jacket: Item, site: Behaviour, request: Any
) -> Callable[[int], Approved]:
    """Orders of other quantities, at the address of the test."""
    api.reset()
    browser = signed_in.browser()
    path = request.node.callspec.params["path"]
    return lambda quantity: Approved(signed_in, browser, path, quantity)


@dataclass
class Fault:
    """A database that fails at its ``number``-th statement about our tables, or from then on."""

    number: int
    stays: bool
    seen: int = 0

    def __call__(self, execute: Callable[..., Any], sql: str, *args: Any) -> Any:
        if "poppy_operations" in sql:
            self.seen += 1
            if self.seen == self.number or (self.stays and self.seen > self.number):
                raise OperationalError(GONE)
        return execute(sql, *args)


def is_documented(order: Approved, answer: Any) -> bool:
    if answer.status_code == 503:
        return int(answer["Retry-After"]) > 0
    return answer.status_code == order.performed or (
        # What a browser gets while nobody may say that its action failed.
        answer.status_code == 403 and not order.is_api and order.path in OUTSIDE
    )


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.requirement("OPS-7-01")
@pytest.mark.parametrize("stays", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("path", PATHS)
def test_a_statement_that_fails_makes_no_fault_and_no_second_effect(
    path: str, stays: bool, approved: Callable[[int], Approved]
) -> None:
    now = timezone.now()
    with time_machine.travel(now, tick=False) as clock:
        for number in range(1, MOST):
            order = approved(number)
            fault = Fault(number, stays)
            with connection.execute_wrapper(fault):
                answer = order.send()
            assert is_documented(order, answer), (number, answer)
            assert order.times == 1 or answer.status_code == 503, number
            if fault.seen < number:
                break
            # A lease ends what could not be released.
            now += timedelta(seconds=62)
            clock.move_to(now)
            assert_is_performed(order)
    assert 5 < number < MOST - 1
    assert answer.status_code == order.performed


def assert_is_performed(order: Approved) -> None:
    """Repeat it; what reached outside and could not be recorded waits for reconcile."""
    before, again = order.times, order.send()
    assert order.times == 1
    if order.path in OUTSIDE and before:
        assert again.status_code in {order.performed, 403, 503}
    else:
        assert again.status_code == (order.performed if order.is_api or not before else 403)


@contextmanager
def commit_number(number: int, fails: Callable[[Any, Any], None]) -> Iterator[list[int]]:
    """Let that commit from now on fail, in one way or the other."""
    wrapper = type(connection._connections[connection._alias])
    original = wrapper._commit
    seen: list[int] = []

    def commit(self: Any) -> None:
        seen.append(1)
        if len(seen) == number:
            fails(self, original)
        else:
            original(self)

    wrapper._commit = commit
    try:
        yield seen
    finally:
        wrapper._commit = original


def answer_is_lost(wrapper: Any, commit: Any) -> None:
    commit(wrapper)
    raise OperationalError(GONE)


def is_refused(wrapper: Any, commit: Any) -> None:
    raise OperationalError(GONE)


@pytest.mark.slow
@pytest.mark.database
@pytest.mark.django_db(transaction=True)
@pytest.mark.requirement("OPS-7-01")
@pytest.mark.parametrize("fails", [answer_is_lost, is_refused])
@pytest.mark.parametrize("path", ["/buy/", "/abuy/", "/refund/", "/api/class/", "/api/transfer/"])
def test_a_commit_that_fails_makes_no_fault_and_no_second_effect(
    path: str, fails: Any, approved: Callable[[int], Approved]
) -> None:
    for number in range(1, MOST):
        order = approved(number)
        with commit_number(number, fails) as seen, told_by(operation_performed) as told:
            answer = order.send()
        if len(seen) < number:
            break
        assert is_documented(order, answer), (number, answer)
        if answer.status_code == 503:
            assert (order.times, told.calls) == (0, [])
            assert_is_performed(order)
        assert order.times == 1
        if answer.status_code == order.performed:
            assert len(told.calls) == 1
    assert number > 2
    assert not Operation.objects.filter(state="performing").exists()


FAILS = [answer_is_lost, is_refused]


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("fails", FAILS)
@pytest.mark.parametrize("performed", [None, Performed(status=202)], ids=["not performed", "done"])
def test_a_settlement_whose_commit_goes_unheard_is_done_once_and_told(
    signed_in: SessionOf, jacket: Item, site: Behaviour, performed: Any, fails: Any
) -> None:
    def time_out(_operation: Any) -> None:
        raise TimeoutError

    signed_in.client.raise_request_exception = False
    order = Approved(signed_in, signed_in.browser(), "/api/transfer/")
    site.after_effect = time_out
    assert order.send().status_code == 503
    row = Operation.objects.get()
    with commit_number(1, fails) as seen, told_by(operation_settled) as told:
        assert maintenance.settle_by_hand(row, performed, by="bob", because="looked")
    assert len(seen) == 2
    settlement = Settlement.objects.get()
    assert [call["settlement"] for call in told.calls] == [settlement]
    assert told.stored == ["open" if performed is None else "performed"]
    assert not maintenance.settle_by_hand(row, performed, by="bob", because="looked")


@pytest.mark.django_db(transaction=True)
def test_a_reconciliation_whose_commit_goes_unheard_bars_one_key(
    signed_in: SessionOf, jacket: Item, site: Behaviour, monkeypatch: pytest.MonkeyPatch
) -> None:
    def time_out(_operation: Any) -> None:
        raise TimeoutError

    signed_in.client.raise_request_exception = False
    order = Approved(signed_in, signed_in.browser(), "/api/transfer/")
    site.after_effect = time_out
    assert order.send().status_code == 503
    monkeypatch.setattr(transfer, "reconcile_hook", lambda _operation: NotPerformed())
    with commit_number(1, answer_is_lost):
        assert maintenance.reconcile().not_performed == 1
    assert Operation.objects.get().barred_keys == 1


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("fails", FAILS)
def test_a_voiding_whose_commit_goes_unheard_is_done(
    signed_in: SessionOf, jacket: Item, site: Behaviour, fails: Any
) -> None:
    Approved(signed_in, signed_in.browser(), "/buy/")
    approval, now = Approval.objects.get(), timezone.now()
    with commit_number(1, fails):
        assert void(approval, by="bob", because="a mistake", now=now)
    assert Approval.objects.get().voided_by == "bob"
    assert not void(approval, by="bob", because="a mistake", now=now + timedelta(seconds=1))
    assert not void(approval, by="eve", because="a mistake", now=now)
