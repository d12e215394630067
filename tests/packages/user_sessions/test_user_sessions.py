"""django-user-sessions: users see their sessions and delete them, an agent's among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from user_sessions.models import Session

from poppy_operations.sessions.agents import revoke_agent
from tests.agents import ORDER, SessionOf
from tests.asking import ask, recorded
from tests.packages.browsers import BUY, bought, is_an_agents, whose

SESSIONS = "/account/sessions/"


@pytest.fixture
def at_home(visitor: Client, alice: Any) -> Client:
    """Alice's own browser, in which she looks at her sessions."""
    visitor.defaults["HTTP_USER_AGENT"] = "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"
    visitor.post("/accounts/login/", {"username": "alice", "password": "alice"})
    return visitor


def deletion(browser: Client) -> str:
    """Where a browser's session is deleted."""
    return f"{SESSIONS}{browser.session.session_key}/delete/"


def test_an_agents_browser_has_one_session_that_its_user_sees(
    at_home: Client, signed_in: SessionOf, alice: Any
) -> None:
    keys = {at_home.session.session_key, signed_in.browser().session.session_key}

    assert at_home.get(SESSIONS).status_code == 200
    assert set(Session.objects.filter(user=alice).values_list("pk", flat=True)) == keys


def test_a_sign_in_keeps_the_mark_under_the_new_key(
    signed_in: SessionOf, bob: Any, effects: Callable[[], list[str]]
) -> None:
    browser = signed_in.browser()
    key = browser.session.session_key
    browser.post("/accounts/login/", {"username": "bob", "password": "bob"})

    assert browser.session.session_key != key
    assert whose(browser) == "bob"
    assert is_an_agents(browser)
    assert effects() == []


def test_a_revoked_agents_login_ends_and_its_browser_stays_an_agents(
    signed_in: SessionOf, effects: Callable[[], list[str]]
) -> None:
    browser = signed_in.browser()
    assert whose(browser) == "alice"
    revoke_agent(signed_in.agent.client_id)

    assert whose(browser) == "AnonymousUser"
    assert is_an_agents(browser)
    assert effects() == []


def test_an_agents_browser_that_deletes_its_own_session_stays_an_agents(
    signed_in: SessionOf, effects: Callable[[], list[str]]
) -> None:
    browser = signed_in.browser()
    assert browser.post(deletion(browser)).status_code == 302

    assert whose(browser) == "AnonymousUser"
    assert is_an_agents(browser)
    assert effects() == []


def test_an_agents_browser_whose_session_its_user_deletes_stays_an_agents(
    at_home: Client, signed_in: SessionOf, effects: Callable[[], list[str]]
) -> None:
    browser = signed_in.browser()
    assert at_home.post(deletion(browser)).status_code == 302

    assert whose(browser) == "AnonymousUser"
    assert is_an_agents(browser)
    assert effects() == []


def test_an_approval_is_no_use_after_the_session_was_deleted(
    at_home: Client, signed_in: SessionOf, effects: Callable[[], list[str]]
) -> None:
    browser = signed_in.browser()
    recorded(signed_in, browser)
    at_home.post(deletion(browser))

    assert is_an_agents(browser)
    assert effects() == []


def test_deleting_the_other_sessions_leaves_an_agents_browser_as_it_is(
    at_home: Client, signed_in: SessionOf, effects: Callable[[], list[str]]
) -> None:
    browser = signed_in.browser()
    browser.post(f"{SESSIONS}other/delete/")

    assert whose(at_home) == "AnonymousUser"
    assert ask(browser)
    assert effects() == []


def test_a_user_who_deletes_sessions_is_an_ordinary_visitor_still(
    at_home: Client, effects: Callable[[], list[str]]
) -> None:
    at_home.post(f"{SESSIONS}other/delete/")
    assert at_home.post(BUY, ORDER)["Location"] == "/done/"

    at_home.post(deletion(at_home))
    assert at_home.post(BUY, ORDER)["Location"] == "/done/"
    assert effects() == [bought(1), bought(1)]
