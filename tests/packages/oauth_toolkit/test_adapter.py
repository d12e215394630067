"""The ready-made Company for django-oauth-toolkit: whose a token is, valid or not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.checks import run_checks
from django.db import connection
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from oauth2_provider.models import AccessToken as Row
from oauth2_provider.models import Application

from poppy_operations.company import get_company
from poppy_operations.sessions.refusals import InvalidToken
from poppy_operations.sessions.tokens import AccessToken
from tests.agents import ApiClient, SessionOf
from tests.configuring import configure
from tests.packages.bearers import FIELD, HEADER, ORDERED, QUERY, Place
from tests.packages.oauth_toolkit.issuing import Issuer

pytestmark = pytest.mark.filterwarnings(
    "ignore:Presenting an OAuth 2.0 access token:DeprecationWarning"
)

AGENTS = "https://agent.example/client"
APPS = "mobile-app"
URL_APPS = "https://app.shop.example/client"
VIEWS = ("/orders/", "/agents-orders/", "/protected/")
Issue = Callable[..., str]


@pytest.fixture
def issue(alice: Any) -> Issue:
    """Issue a token for alice."""

    def token(client_id: str = AGENTS, **options: Any) -> str:
        return Issuer().access_token(str(alice.pk), client_id=client_id, **options)

    return token


def verified(token: str, *, now: datetime | None = None) -> AccessToken:
    """What the site's verifier says."""
    return get_company().token_verifier().verify(token, now=now)


def client_of(credential: object) -> str | None:
    """Whose the site says a credential is."""
    return get_company().client_of(RequestFactory().get("/"), credential)


def is_agent(token: str) -> bool:
    """Whether a request that shows it is an agent's."""
    request = RequestFactory().get("/", headers={"Authorization": f"Bearer {token}"})
    return get_company().is_agent(request)


def test_a_token_says_whose_it_is(issue: Issue, alice: Any) -> None:
    token = verified(issue(scope="orders:read"))

    assert token.account == str(alice.pk)
    assert token.client_id == AGENTS
    assert token.scope == {"orders:write", "orders:read"}
    assert token.expires_at == int(Row.objects.get().expires.timestamp())


def test_a_token_that_is_known_costs_one_query(issue: Issue) -> None:
    token = issue()
    with CaptureQueriesContext(connection) as captured:
        verified(token)
    assert len(captured) == 1
    with CaptureQueriesContext(connection) as captured:
        assert client_of(token) == AGENTS
    assert len(captured) == 1


@pytest.mark.parametrize("account", ["user", "application"])
def test_a_token_of_nobody_is_refused(account: str, issue: Issue) -> None:
    token = issue()
    Row.objects.update(**{account: None})

    with pytest.raises(InvalidToken, match="belongs to no application, or to no user"):
        verified(token)


def test_a_token_that_is_not_known_is_refused() -> None:
    with pytest.raises(InvalidToken) as refused:
        verified("nobody-knows-it")
    assert refused.value.client_id is None


def test_a_token_that_has_expired_is_refused_and_still_its_clients(issue: Issue) -> None:
    token = issue(lifetime=-1)

    with pytest.raises(InvalidToken) as refused:
        verified(token)
    assert refused.value.client_id == AGENTS
    assert client_of(token) == AGENTS


def test_the_moment_may_be_said(issue: Issue) -> None:
    token = issue(lifetime=60)

    assert verified(token, now=datetime.now(UTC) + timedelta(seconds=50))
    with pytest.raises(InvalidToken):
        verified(token, now=datetime.now(UTC) + timedelta(seconds=61))


def test_a_token_for_another_resource_is_refused(issue: Issue) -> None:
    token = issue()
    Row.objects.update(resource=["https://shop.example"])
    assert verified(token)
    Row.objects.update(resource=["https://other.example"])
    with pytest.raises(InvalidToken):
        verified(token)


def test_an_application_that_may_not_be_used_any_more_has_no_valid_tokens(
    issue: Issue, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = issue()
    monkeypatch.setattr(Application, "is_usable", lambda self, request: False)

    with pytest.raises(InvalidToken):
        verified(token)
    assert client_of(token) == AGENTS


# Who is an agent


@pytest.mark.parametrize(
    ("client_id", "agents"),
    [
        (AGENTS, True),
        ("https://nobody-listed.example/client", True),
        ("HTTPS://agent.example/client", True),
        ("http://127.0.0.1:8000/client", True),
        (APPS, False),
        ("4kPq9tN2vXcB", False),
        ("httpsapp", False),
        (URL_APPS, False),
        (f"{URL_APPS}/", True),
    ],
)
def test_an_agent_is_an_application_with_a_url_that_is_not_named_as_an_own(
    client_id: str, agents: bool, issue: Issue
) -> None:
    assert is_agent(issue(client_id)) is agents
    assert is_agent(issue(client_id, lifetime=-3600)) is agents


def test_a_token_without_an_application_is_an_agents(issue: Issue) -> None:
    """Such as one that another server was asked about."""
    token = issue(APPS)
    Row.objects.update(application=None)

    assert is_agent(token)


@pytest.mark.parametrize("token", ["nobody-knows-it", "null", "undefined", "\u00e4", "a b"])
def test_a_token_that_is_not_known_is_an_agents(token: str, db: None) -> None:
    assert is_agent(token)


def test_what_the_site_accepted_is_judged_without_a_query(issue: Issue) -> None:
    issue(APPS)
    row = Row.objects.select_related("application").get()
    with CaptureQueriesContext(connection) as captured:
        assert client_of(row) == APPS
    assert len(captured) == 0


def test_other_credentials_are_judged_as_ever(alice: Any) -> None:
    assert client_of(alice) is None
    assert client_of(AccessToken("1", AGENTS, frozenset(), 1)) == AGENTS
    with pytest.raises(InvalidToken):
        client_of(object())


# At the doors


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("place", [HEADER, QUERY, FIELD], ids=str)
def test_an_expired_token_of_an_app_gets_the_packages_own_answer(
    place: Place, view: str, issue: Issue, effects: Callable[[], list[str]]
) -> None:
    """By its 401 the app knows that it has to refresh."""
    answer = place.send(view, issue(APPS, lifetime=-1))

    assert answer.status_code == (403 if view == "/protected/" else 401)
    assert "invalid_session" not in answer.content.decode()
    assert effects() == []


@pytest.mark.parametrize("view", VIEWS)
def test_an_app_that_is_named_orders_at_once_though_its_id_is_a_url(
    view: str, issue: Issue, effects: Callable[[], list[str]]
) -> None:
    assert HEADER.send(view, issue(URL_APPS)).status_code == 201
    assert effects() == [ORDERED]


@pytest.mark.parametrize("view", ["/orders/", "/agents-orders/"])
def test_a_user_who_may_not_sign_in_any_more_is_nobody(
    view: str, signed_in: SessionOf, alice: Any, effects: Callable[[], list[str]]
) -> None:
    alice.is_active = False
    alice.save()
    answer = ApiClient(signed_in, "/agents-orders/").send()

    assert (answer.status_code, answer.json()) == (401, {"error": "invalid_token"})
    assert effects() == []


def test_a_check_warns_of_a_company_that_does_not_know_the_clients(settings: Any) -> None:
    configure(settings, COMPANY="poppy_operations.company.Company")
    said = [one.msg for one in run_checks() if one.id == "poppy_operations.W013"]
    assert [" of django-oauth-toolkit, " in one for one in said] == [True]
