"""django-sesame: a link signs in, and the browser that opens it stays an agent's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from sesame.utils import get_query_string

from tests.agents import ORDER, SessionOf
from tests.asking import recorded
from tests.packages import settings as plain
from tests.packages.browsers import BUY, bought, is_an_agents, whose
from tests.packages.sesame.settings import LINKS


@pytest.fixture(
    params=[
        pytest.param(plain.before_ours(plain.MIDDLEWARE, LINKS), id="before ours"),
        pytest.param(plain.after_ours(plain.MIDDLEWARE, LINKS), id="after ours"),
    ]
)
def links(request: pytest.FixtureRequest, settings: Any) -> None:
    """The middleware of links, in each of its places."""
    settings.MIDDLEWARE = request.param


@pytest.fixture(params=["/link/", "/plain/"], ids=["a page for links", "any page"])
def page(request: pytest.FixtureRequest, links: None) -> str:
    """Where a link may lead."""
    return str(request.param)


def test_a_visitor_signs_in_by_a_link_and_buys_at_once(
    visitor: Client, page: str, alice: Any, effects: Callable[[], list[str]]
) -> None:
    assert visitor.get(page + get_query_string(alice)).status_code == 302
    assert whose(visitor) == "alice"
    assert visitor.post(BUY, ORDER)["Location"] == "/done/"
    assert effects() == [bought(1)]


@pytest.mark.parametrize("name", ["alice", "bob"])
def test_an_agents_browser_that_signs_in_by_a_link_stays_an_agents(
    signed_in: SessionOf,
    alice: Any,
    bob: Any,
    page: str,
    name: str,
    effects: Callable[[], list[str]],
) -> None:
    browser = signed_in.browser()
    recorded(signed_in, browser)
    browser.get(page + get_query_string({"alice": alice, "bob": bob}[name]))

    assert whose(browser) == name
    assert is_an_agents(browser)
    assert effects() == []


def test_an_agents_browser_that_sends_a_link_with_its_request_stays_an_agents(
    signed_in: SessionOf, bob: Any, links: None, effects: Callable[[], list[str]]
) -> None:
    """The very request that signs in is the gated one."""
    browser = signed_in.browser()
    response = browser.post(BUY + get_query_string(bob), ORDER)

    assert response.status_code == 403
    assert effects() == []
    assert is_an_agents(browser)
    assert effects() == []


def test_a_signed_out_agents_browser_that_signs_in_by_a_link_stays_an_agents(
    signed_out: SessionOf, bob: Any, page: str, effects: Callable[[], list[str]]
) -> None:
    browser = signed_out.browser()
    browser.get(page + get_query_string(bob))

    assert whose(browser) == "bob"
    assert is_an_agents(browser)
    assert effects() == []
