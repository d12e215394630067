"""django-oauth-toolkit: an agent's token is an agent's, wherever in a request it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from oauth2_provider.models import AccessToken

from tests.agents import ApiClient, SessionOf
from tests.packages.bearers import FIELD, HEADER, ORDERED, QUERY, SPACED, Place
from tests.packages.browsers import BUY, bought, is_an_agents

VIEWS = ("/orders/", "/agents-orders/", "/protected/")
PLACES = (HEADER, *SPACED.values(), QUERY, FIELD)

# The package accepts a token in the query, and says at each that it should not be asked to.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Presenting an OAuth 2.0 access token:DeprecationWarning"
)


FORM: Mapping[str, Any] = {
    "body": "sku=jacket&quantity=1",
    "content_type": "application/x-www-form-urlencoded",
}


@pytest.fixture
def agents_token(signed_in: SessionOf) -> str:
    """The agent's token for alice's account."""
    token = signed_in.access_token
    assert token is not None
    return token


@pytest.fixture
def apps_token(issuer: Any, alice: Any) -> str:
    """The token of the site's own mobile app."""
    token: str = issuer.access_token(str(alice.pk), client_id="mobile-app")
    return token


@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("view", VIEWS)
def test_an_agents_token_without_a_session_is_refused(
    view: str, place: Place, agents_token: str, effects: Callable[[], list[str]]
) -> None:
    refused = place.send(view, agents_token)

    assert effects() == []
    assert (refused.status_code, refused.json()) == (403, {"error": "invalid_session"})


@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("view", VIEWS)
def test_another_clients_token_orders_at_once(
    view: str, place: Place, apps_token: str, effects: Callable[[], list[str]]
) -> None:
    assert place.send(view, apps_token).status_code == 201
    assert effects() == [ORDERED]


@pytest.mark.parametrize("view", VIEWS)
def test_a_token_in_the_address_is_nobodys_where_the_package_is_told_so(
    view: str, apps_token: str, settings: Any, effects: Callable[[], list[str]]
) -> None:
    strict = {"COMPLIANT_BCP_RFC9700_ACCESS_TOKEN_TRANSPORT": True}
    settings.OAUTH2_PROVIDER = {**settings.OAUTH2_PROVIDER, **strict}

    assert QUERY.send(view, apps_token).status_code in {401, 403}
    assert effects() == []


@pytest.mark.parametrize("view", VIEWS)
def test_an_agent_asks_has_it_approved_and_orders_once(
    view: str, signed_in: SessionOf, effects: Callable[[], list[str]]
) -> None:
    api = ApiClient(signed_in, view)
    operation = api.ask(**FORM)
    assert effects() == []

    assert api.approve(operation, **FORM).status_code == 201
    assert api.approve(operation, **FORM).status_code == 201
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


def test_a_token_that_was_revoked_is_refused(
    signed_in: SessionOf, agents_token: str, effects: Callable[[], list[str]]
) -> None:
    AccessToken.objects.get().revoke()
    refused = ApiClient(signed_in, "/agents-orders/").send(access_token=agents_token)

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


@pytest.mark.parametrize("place", [HEADER, *SPACED.values()], ids=str)
def test_an_agents_token_is_no_login_on_the_website(
    place: Place, agents_token: str, effects: Callable[[], list[str]]
) -> None:
    """The package's middleware signs in whoever has a token, on every page."""
    assert place.send(BUY, agents_token).status_code == 403
    assert effects() == []


def test_another_clients_token_buys_on_the_website(
    apps_token: str, effects: Callable[[], list[str]]
) -> None:
    assert HEADER.send(BUY, apps_token)["Location"] == "/done/"
    assert effects() == [bought(1)]


def test_an_agents_browser_with_another_clients_token_stays_an_agents(
    signed_in: SessionOf, apps_token: str, effects: Callable[[], list[str]]
) -> None:
    browser = signed_in.browser()
    browser.defaults["HTTP_AUTHORIZATION"] = f"Bearer {apps_token}"

    assert is_an_agents(browser)
    browser.post("/accounts/logout/")
    assert is_an_agents(browser)
    assert effects() == []
