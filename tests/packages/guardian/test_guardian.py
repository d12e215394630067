"""django-guardian: rights to objects are asked for by ``allowed``, and its backend joins nobody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import BACKEND_SESSION_KEY
from django.test import Client
from guardian.shortcuts import assign_perm, remove_perm

from tests.agents import ORDER, SessionOf
from tests.asking import recorded
from tests.packages.browsers import ask_for_ticket, whose
from tests.packages.guardian.urls import RIGHT
from tests.shop.models import Item

RESTOCK = "/items/jacket/restock/"
RESTOCKED = "shop.exchange 1 jacket"
FORBIDDEN = "<h1>403 Forbidden</h1>"
USERS = "django.contrib.auth.backends.ModelBackend"
OBJECTS = "guardian.backends.ObjectPermissionBackend"


@pytest.fixture
def in_alices_care(alice: Any, jacket: Item) -> Item:
    """An item that alice may restock."""
    assign_perm(RIGHT, alice, jacket)
    return jacket


def test_a_visitor_needs_the_right_to_the_object(
    visitor: Client, in_alices_care: Item, bob: Any, effects: Callable[[], list[str]]
) -> None:
    visitor.login(username="bob", password="bob")
    assert visitor.post(RESTOCK, ORDER).status_code == 403
    assert effects() == []

    visitor.login(username="alice", password="alice")
    assert visitor.post(RESTOCK, ORDER)["Location"] == "/done/"
    assert effects() == [RESTOCKED]


def test_an_agent_with_the_right_asks_and_performs(
    signed_in: SessionOf, in_alices_care: Item, effects: Callable[[], list[str]]
) -> None:
    browser = signed_in.browser()
    recorded(signed_in, browser, RESTOCK)

    assert browser.post(RESTOCK, ORDER)["Location"] == "/done/"
    assert effects() == [RESTOCKED]


def test_an_agent_without_the_right_gets_no_operation(
    signed_in: SessionOf, jacket: Item, effects: Callable[[], list[str]]
) -> None:
    refused = signed_in.browser().post(RESTOCK, ORDER)

    assert refused.status_code == 403
    assert "Poppy-Operation" not in refused
    assert FORBIDDEN in refused.content.decode()
    assert effects() == []


def test_a_right_that_was_taken_away_ends_an_approval(
    signed_in: SessionOf, in_alices_care: Item, alice: Any, effects: Callable[[], list[str]]
) -> None:
    browser = signed_in.browser()
    recorded(signed_in, browser, RESTOCK)
    remove_perm(RIGHT, alice, in_alices_care)

    refused = browser.post(RESTOCK, ORDER)
    assert refused.status_code == 403
    assert "Poppy-Operation" not in refused
    assert effects() == []


@pytest.mark.parametrize("backends", [(USERS, OBJECTS), (OBJECTS, USERS)], ids=["last", "first"])
def test_a_join_signs_in_by_the_backend_that_knows_users(
    signed_in: SessionOf, settings: Any, backends: tuple[str, ...]
) -> None:
    settings.AUTHENTICATION_BACKENDS = backends
    browser = signed_in.browser()

    assert whose(browser) == "alice"
    assert browser.session[BACKEND_SESSION_KEY] == USERS


def test_no_ticket_is_given_where_no_backend_knows_users(
    signed_in: SessionOf, settings: Any
) -> None:
    """Nobody could be signed in, and the next request would not know whom it is."""
    settings.AUTHENTICATION_BACKENDS = (OBJECTS,)
    answer = ask_for_ticket(signed_in)

    assert (answer.status_code, answer.json()) == (403, {"error": "invalid_session"})
