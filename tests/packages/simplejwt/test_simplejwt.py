"""simplejwt: a token with an agent's name in it is an agent's, however the header is spaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.agents import ApiClient, SessionOf
from tests.packages.bearers import ASCII_SPACES, HEADER, ORDERED, SPACED, Place

VIEWS = ("/orders/", "/agents-orders/", "/stateless-orders/")
# The package reads bytes, and separates them at the white space of ASCII.
PLACES = (HEADER, *(SPACED[name] for name in ASCII_SPACES))
OTHERS = [place for name, place in SPACED.items() if name not in ASCII_SPACES]


@pytest.fixture
def agents_token(signed_in: SessionOf) -> str:
    """The agent's token for alice's account."""
    token = signed_in.access_token
    assert token is not None
    return token


@pytest.fixture
def apps_token(alice: Any) -> str:
    """The token of the site's own app, as the site issues it."""
    given = {"username": "alice", "password": "alice"}
    token: str = Client().post("/token/", given, "application/json").json()["access"]
    return token


@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("view", VIEWS)
def test_an_agents_token_without_a_session_is_refused(
    view: str, place: Place, agents_token: str, effects: Callable[[], list[str]]
) -> None:
    refused = place.send(view, agents_token)

    assert effects() == []
    assert (refused.status_code, refused.json()) == (403, {"error": "invalid_session"})


@pytest.mark.parametrize("place", OTHERS, ids=str)
@pytest.mark.parametrize("view", VIEWS)
def test_a_token_that_the_package_does_not_read_orders_nothing(
    view: str, place: Place, agents_token: str, effects: Callable[[], list[str]]
) -> None:
    assert place.send(view, agents_token).status_code in {401, 403}
    assert effects() == []


@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("view", VIEWS)
def test_another_clients_token_orders_at_once(
    view: str, place: Place, apps_token: str, effects: Callable[[], list[str]]
) -> None:
    assert place.send(view, apps_token).status_code == 201
    assert effects() == [ORDERED]


@pytest.mark.parametrize("view", VIEWS)
def test_an_agent_asks_has_it_approved_and_orders_once(
    view: str, signed_in: SessionOf, effects: Callable[[], list[str]]
) -> None:
    api = ApiClient(signed_in, view)
    operation = api.ask()
    assert effects() == []

    assert api.approve(operation).status_code == 201
    assert api.approve(operation).status_code == 201
    assert effects() == [ORDERED]


@pytest.mark.parametrize("view", VIEWS)
def test_a_token_of_another_client_is_no_token_of_the_agents(
    view: str, signed_in: SessionOf, apps_token: str, effects: Callable[[], list[str]]
) -> None:
    refused = ApiClient(signed_in, view).send(access_token=apps_token)

    assert (refused.status_code, refused.json()) == (401, {"error": "invalid_token"})
    assert effects() == []


def test_a_token_that_has_expired_is_refused(
    signed_in: SessionOf, issuer: Any, alice: Any, effects: Callable[[], list[str]]
) -> None:
    client_id = signed_in.agent.client_id
    token = issuer.access_token(str(alice.pk), client_id=client_id, lifetime=-1)
    refused = ApiClient(signed_in, "/agents-orders/").send(access_token=token)

    assert (refused.status_code, refused.json()) == (401, {"error": "invalid_token"})
    assert effects() == []


def test_a_refresh_token_is_no_access_token(
    signed_in: SessionOf, alice: Any, effects: Callable[[], list[str]]
) -> None:
    given = {"username": "alice", "password": "alice"}
    token = Client().post("/token/", given, "application/json").json()["refresh"]
    refused = ApiClient(signed_in, "/agents-orders/").send(access_token=token)

    assert (refused.status_code, refused.json()) == (401, {"error": "invalid_token"})
    assert effects() == []


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_scope_is_no_way_around_the_session(place: Place, agents_token: str) -> None:
    refused = place.send("/looks/", agents_token)

    assert (refused.status_code, refused.json()) == (403, {"error": "invalid_session"})


def test_a_scope_is_asked_of_the_agents_token(signed_in: SessionOf) -> None:
    refused = ApiClient(signed_in, "/looks/").send()
    assert (refused.status_code, refused.json()["error"]) == (403, "insufficient_scope")

    signed_in.scope = "orders:read"
    assert ApiClient(signed_in, "/looks/").send().json() == {"user": "alice"}
