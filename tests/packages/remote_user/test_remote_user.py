"""Header sign-on: a browser that the front signs on again and again never stops being an agent's.

With a header the site does not handle the browser as its Session, unless the header says nobody:
the login is the front's and not the join's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.agents import ORDER, SessionOf
from tests.asking import ask
from tests.packages import settings as plain
from tests.packages.browsers import BUY, bought, is_an_agents, open_ticket, whose
from tests.packages.remote_user.settings import (
    AUTHENTICATION_BACKENDS,
    PERSISTENT,
    REMOTE_USER,
)

FRONT = {"REMOTE_USER": "alice"}
CONFIRMED = {"headers": {"Sec-Fetch-Site": "same-origin"}}
AMBIENT = [
    pytest.param(plain.before_ours(plain.MIDDLEWARE, REMOTE_USER), id="before ours"),
    pytest.param(plain.after_ours(plain.MIDDLEWARE, REMOTE_USER), id="after ours"),
    pytest.param(plain.before_ours(plain.MIDDLEWARE, PERSISTENT), id="persistent, before ours"),
    pytest.param(plain.after_ours(plain.MIDDLEWARE, PERSISTENT), id="persistent, after ours"),
]


@pytest.fixture(params=AMBIENT)
def sign_on(request: pytest.FixtureRequest, settings: Any) -> list[str]:
    """The middleware that signs on, in each of its places."""
    settings.MIDDLEWARE = request.param
    return list(request.param)


@pytest.fixture
def signed_on(visitor: Client, alice: Any, sign_on: list[str]) -> Client:
    """A browser of alice's, as the front signs it on with every request."""
    visitor.defaults.update(FRONT)
    return visitor


@pytest.fixture
def for_bob(session_of: Callable[..., SessionOf], bob: Any) -> SessionOf:
    """A Session signed in to bob's account."""
    return session_of(account=str(bob.pk))


def join(session: SessionOf, browser: Client) -> None:
    """Join a browser that has a login of its own: a person says yes."""
    asked = open_ticket(session, browser)
    assert asked.status_code == 200
    joined = browser.post(asked.request["PATH_INFO"], **CONFIRMED)
    assert joined.status_code == 303


def test_a_visitor_whom_the_front_signs_on_buys_at_once(
    signed_on: Client, effects: Callable[[], list[str]]
) -> None:
    assert whose(signed_on) == "alice"
    assert signed_on.post(BUY, ORDER)["Location"] == "/done/"
    assert effects() == [bought(1)]


def test_a_browser_that_is_signed_on_as_another_stays_an_agents(
    signed_on: Client, for_bob: SessionOf, effects: Callable[[], list[str]]
) -> None:
    join(for_bob, signed_on)

    assert is_an_agents(signed_on)
    assert whose(signed_on) == "alice"
    assert is_an_agents(signed_on)
    assert effects() == []


def test_a_browser_that_is_signed_on_as_the_same_account_stays_an_agents(
    signed_on: Client, signed_in: SessionOf, effects: Callable[[], list[str]]
) -> None:
    join(signed_in, signed_on)
    assert is_an_agents(signed_on)

    signed_on.post("/accounts/logout/")
    assert is_an_agents(signed_on)
    assert effects() == []


def test_a_browser_that_was_joined_first_and_is_signed_on_then_stays_an_agents(
    signed_in: SessionOf, bob: Any, sign_on: list[str], effects: Callable[[], list[str]]
) -> None:
    browser = signed_in.browser()
    assert ask(browser)
    browser.defaults["REMOTE_USER"] = "bob"

    assert is_an_agents(browser)
    del browser.defaults["REMOTE_USER"]
    assert is_an_agents(browser)
    assert effects() == []


@pytest.mark.parametrize("backends", [AUTHENTICATION_BACKENDS, AUTHENTICATION_BACKENDS[::-1]])
def test_a_join_without_a_header_asks_for_operations(
    signed_in: SessionOf,
    sign_on: list[str],
    settings: Any,
    backends: list[str],
    effects: Callable[[], list[str]],
) -> None:
    """Whichever backend is first: without its header the middleware ends logins of its own."""
    settings.AUTHENTICATION_BACKENDS = backends
    browser = signed_in.browser()

    assert is_an_agents(browser)
    assert is_an_agents(browser)
    assert effects() == []


def test_a_join_without_a_header_is_kept_beside_djangos_own_backend(
    signed_in: SessionOf, sign_on: list[str]
) -> None:
    browser = signed_in.browser()

    assert whose(browser) == "alice"
    assert ask(browser)
