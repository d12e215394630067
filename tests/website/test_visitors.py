"""Ordinary visitors, and what is logged of agents."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpResponse

from poppy_operations import NotPerformed
from poppy_operations.models import Operation
from tests.agents import ORDER, SessionOf
from tests.connections import be_atomic
from tests.shop.models import Item
from tests.shop.operations import Behaviour

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("path", ["/buy/", "/abuy/", "/form/"])
def test_a_visitor_gets_the_answer_of_an_action_that_says_nothing_happened(
    path: str, client: Any, jacket: Item, site: Behaviour
) -> None:
    def sold_out(_operation: Any) -> None:
        raise NotPerformed(HttpResponse("sold out", status=409))

    site.before_effect = sold_out
    response = client.post(path, ORDER)
    assert (response.status_code, response.content) == (409, b"sold out")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("authorization", [{}, {"Authorization": "Basic YTpi"}])
def test_nothing_stays_of_an_action_that_says_so_under_atomic_requests(
    authorization: dict[str, str],
    client: Any,
    jacket: Item,
    site: Behaviour,
    settings: Any,
    monkeypatch: Any,
    effects: Callable[[], list[str]],
) -> None:
    def after_all(_operation: Any) -> None:
        raise NotPerformed(HttpResponse("sold out", status=409))

    be_atomic(monkeypatch)
    site.after_effect = after_all
    assert client.post("/buy/", ORDER, headers=authorization).status_code == 409
    assert effects() == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["/buy/", "/abuy/"])
def test_nothing_stays_of_an_agents_action_that_says_so_if_it_needs_no_approval(
    path: str,
    signed_out: SessionOf,
    jacket: Item,
    site: Behaviour,
    effects: Callable[[], list[str]],
) -> None:
    def after_all(_operation: Any) -> None:
        raise NotPerformed(HttpResponse("sold out", status=409))

    site.needed = False
    site.after_effect = after_all
    browser = signed_out.browser()
    response = browser.post(path, ORDER)
    assert (response.status_code, response.content) == (409, b"sold out")
    assert effects() == []
    site.after_effect = lambda _operation: None
    assert browser.post(path, ORDER).status_code == 302
    assert len(effects()) == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["/refund/", "/arefund/"])
def test_an_external_action_that_needs_no_approval_runs_in_no_transaction_of_ours(
    path: str,
    signed_out: SessionOf,
    jacket: Item,
    site: Behaviour,
    effects: Callable[[], list[str]],
) -> None:
    from django.db import connection

    within: list[bool] = []

    def after_all(_operation: Any) -> None:
        within.append(connection.in_atomic_block)
        raise NotPerformed(HttpResponse("sold out", status=409))

    site.needed = False
    site.after_effect = after_all
    assert signed_out.browser().post(path, ORDER).status_code == 409
    assert within == [False]
    assert len(effects()) == 1


@pytest.mark.django_db(transaction=True)
def test_what_a_visitors_action_has_written_stays_as_it_does_without_the_gate(
    client: Any, jacket: Item, site: Behaviour, effects: Callable[[], list[str]]
) -> None:
    def after_all(_operation: Any) -> None:
        raise NotPerformed(HttpResponse("sold out", status=409))

    site.after_effect = after_all
    assert client.post("/buy/", ORDER).status_code == 409
    assert len(effects()) == 1


def test_an_expected_refusal_is_not_logged_as_a_warning(
    signed_out: SessionOf, jacket: Item, caplog: Any
) -> None:
    browser = signed_out.browser()
    with caplog.at_level(logging.INFO):
        assert browser.post("/buy/", ORDER).status_code == 403
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    names = f"operation_id {Operation.objects.get().operation_id}, action shop.buy"
    assert f"Answered with ApprovalRequired (403). ({names})" in caplog.messages
    assert "jacket" not in caplog.text
