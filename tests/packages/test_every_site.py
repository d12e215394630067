"""What holds on every site, whatever its package adds to apps, middleware and backends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.agents import ORDER, SessionOf
from tests.asking import ask, recorded
from tests.packages.browsers import BUY, bought, is_an_agents, open_ticket, whose


def is_ours(message: CheckMessage) -> bool:
    """Whether one of our checks says it, and the site has not silenced it."""
    return str(message.id).startswith("poppy_operations.") and not message.is_silenced()


@pytest.mark.usefixtures("issuer")
def test_our_checks_have_nothing_to_say() -> None:
    said = [str(message) for message in run_checks() if is_ours(message)]
    assert said == []


@pytest.mark.parametrize("has_login", [False, True], ids=["signed out", "signed in"])
def test_a_visitor_buys_at_once_and_costs_no_query_of_ours(
    visitor: Client, alice: Any, effects: Callable[[], list[str]], has_login: bool
) -> None:
    if has_login:
        visitor.login(username="alice", password="alice")
    with CaptureQueriesContext(connection) as captured:
        assert visitor.post(BUY, ORDER)["Location"] == "/done/"

    assert effects() == [bought(1)]
    assert [query["sql"] for query in captured if "poppy_operations_" in query["sql"]] == []


def test_an_agent_asks_has_it_approved_and_buys_once(
    signed_in: SessionOf, effects: Callable[[], list[str]]
) -> None:
    browser = signed_in.browser()
    ref, _ = recorded(signed_in, browser)
    assert effects() == []

    assert browser.post(BUY, ORDER)["Location"] == "/done/"
    assert effects() == [bought(1)]
    assert signed_in.status(ref) == "performed"

    assert ask(browser) != ref
    assert effects() == [bought(1)]


def test_an_agent_that_is_signed_out_buys_once_as_well(
    signed_out: SessionOf, effects: Callable[[], list[str]]
) -> None:
    browser = signed_out.browser()
    recorded(signed_out, browser)

    assert browser.post(BUY, ORDER)["Location"] == "/done/"
    assert effects() == [bought(1)]


def test_a_login_of_another_account_leaves_the_browser_an_agents(
    signed_in: SessionOf, bob: Any, effects: Callable[[], list[str]]
) -> None:
    browser = signed_in.browser()
    browser.post("/accounts/login/", {"username": "bob", "password": "bob"})

    assert is_an_agents(browser)
    assert effects() == []


def test_a_new_join_ends_a_login_of_the_browsers_own(
    signed_in: SessionOf, bob: Any, effects: Callable[[], list[str]]
) -> None:
    browser = signed_in.browser()
    browser.post("/accounts/login/", {"username": "bob", "password": "bob"})
    assert whose(browser) == "bob"
    asked = open_ticket(signed_in, browser)
    browser.post(asked.request["PATH_INFO"], headers={"Sec-Fetch-Site": "same-origin"})

    assert whose(browser) == "alice"
    assert ask(browser)
    assert effects() == []


def test_a_sign_out_leaves_the_browser_an_agents(
    signed_in: SessionOf, effects: Callable[[], list[str]]
) -> None:
    browser = signed_in.browser()
    browser.post("/accounts/logout/")

    assert is_an_agents(browser)
    assert effects() == []


def test_a_later_login_of_the_same_account_leaves_the_browser_an_agents(
    signed_in: SessionOf, effects: Callable[[], list[str]]
) -> None:
    browser = signed_in.browser()
    browser.post("/accounts/logout/")
    browser.post("/accounts/login/", {"username": "alice", "password": "alice"})

    assert is_an_agents(browser)
    assert effects() == []
