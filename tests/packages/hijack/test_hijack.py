"""django-hijack: who works as somebody else does so as what the browser is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from poppy_operations.sessions.agents import revoke_agent
from tests.agents import ORDER, SessionOf
from tests.asking import ask, recorded
from tests.configuring import configure
from tests.packages.browsers import BUY, bought, is_an_agents, open_ticket, whose

ACQUIRE = "/hijack/acquire/"
RELEASE = "/hijack/release/"


@pytest.fixture
def operator(db: None) -> Any:
    """Somebody who may work as others."""
    return get_user_model().objects.create_superuser("operator", password="operator")


@pytest.fixture
def at_work(visitor: Client, operator: Any) -> Client:
    """The operator's own browser."""
    visitor.login(username="operator", password="operator")
    return visitor


def acquire(browser: Client, user: Any) -> None:
    """Begin to work as somebody else."""
    assert browser.post(ACQUIRE, {"user_pk": user.pk}).status_code == 302
    assert whose(browser) == str(user)


def release(browser: Client, back_to: str) -> None:
    """End it."""
    assert browser.post(RELEASE).status_code == 302
    assert whose(browser) == back_to


def test_an_operator_works_as_a_user_and_buys_at_once(
    at_work: Client, alice: Any, effects: Callable[[], list[str]]
) -> None:
    acquire(at_work, alice)
    assert at_work.post(BUY, ORDER)["Location"] == "/done/"

    release(at_work, "operator")
    assert at_work.post(BUY, ORDER)["Location"] == "/done/"
    assert effects() == [bought(1), bought(1)]


def test_an_agents_browser_in_which_an_operator_works_as_a_user_stays_an_agents(
    signed_in: SessionOf, operator: Any, bob: Any, effects: Callable[[], list[str]]
) -> None:
    browser = signed_in.browser()
    browser.post("/accounts/login/", {"username": "operator", "password": "operator"})

    acquire(browser, bob)
    assert is_an_agents(browser)
    release(browser, "operator")
    assert is_an_agents(browser)
    assert effects() == []


def test_an_agent_that_is_joined_as_an_operator_gets_no_operations_as_a_user(
    session_of: Callable[..., SessionOf],
    operator: Any,
    bob: Any,
    settings: Any,
    effects: Callable[[], list[str]],
) -> None:
    configure(settings, JOIN_STAFF=True)
    session = session_of(account=str(operator.pk))
    browser = session.browser()
    recorded(session, browser)

    acquire(browser, bob)
    assert "Poppy-Operation" not in browser.post(BUY, ORDER)
    assert is_an_agents(browser)
    release(browser, "operator")
    assert is_an_agents(browser)
    assert effects() == []


def test_an_agent_cannot_work_as_somebody_else(signed_in: SessionOf, bob: Any) -> None:
    browser = signed_in.browser()

    assert browser.post(ACQUIRE, {"user_pk": bob.pk}).status_code == 403
    assert whose(browser) == "alice"
    assert ask(browser)


def test_a_join_ends_the_work_as_somebody_else(
    at_work: Client, alice: Any, signed_in: SessionOf, effects: Callable[[], list[str]]
) -> None:
    acquire(at_work, alice)
    asked = open_ticket(signed_in, at_work)
    at_work.post(asked.request["PATH_INFO"], headers={"Sec-Fetch-Site": "same-origin"})

    assert ask(at_work)
    assert at_work.post(RELEASE).status_code == 403
    assert whose(at_work) == "alice"
    assert effects() == []


def test_a_revoked_agents_login_ends(signed_in: SessionOf) -> None:
    browser = signed_in.browser()
    assert whose(browser) == "alice"
    revoke_agent(signed_in.agent.client_id)

    assert whose(browser) == "AnonymousUser"
    assert is_an_agents(browser)
