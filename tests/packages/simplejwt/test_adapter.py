"""The ready-made Company for simplejwt: whose a token is, valid or not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from django.conf import settings as site
from django.contrib.auth import get_user_model
from django.core.checks import run_checks
from django.test import Client, RequestFactory
from rest_framework_simplejwt.settings import api_settings
from rest_framework_simplejwt.tokens import AccessToken as Signed
from rest_framework_simplejwt.tokens import RefreshToken

from poppy_operations.company import get_company
from poppy_operations.contrib.simplejwt import SimpleJwtTokens
from poppy_operations.sessions.refusals import InvalidToken
from poppy_operations.sessions.tokens import AccessToken
from tests.agents import HOST
from tests.configuring import configure
from tests.packages.bearers import HEADER, ORDERED
from tests.packages.simplejwt.issuing import Issuer

AGENTS = "https://agent.example/client"
URL_APPS = "https://app.shop.example/client"
VIEWS = ("/orders/", "/agents-orders/", "/stateless-orders/")
Issue = Callable[..., str]


@pytest.fixture
def issue(alice: Any) -> Issue:
    """Issue a token for alice."""

    def token(client_id: str | None = AGENTS, **options: Any) -> str:
        return Issuer().access_token(str(alice.pk), client_id=client_id, **options)

    return token


@pytest.fixture
def signed(alice: Any) -> Signed:
    """A token for alice, to be changed."""
    return Signed.for_user(alice)


def verified(token: str, *, now: datetime | None = None) -> AccessToken:
    """What the site's verifier says."""
    return get_company().token_verifier().verify(token, now=now)


def client_of(credential: object) -> str | None:
    """Whose the site says a credential is."""
    return get_company().client_of(RequestFactory().get("/"), credential)


def is_agent(token: str, **extra: Any) -> bool:
    """Whether a request that shows it is an agent's."""
    extra = extra or {"HTTP_AUTHORIZATION": f"Bearer {token}"}
    return get_company().is_agent(RequestFactory().get("/", **extra))


def test_a_token_says_whose_it_is(issue: Issue, alice: Any) -> None:
    token = verified(issue(scope="orders:read orders:write"))

    assert token.account == str(alice.pk)
    assert token.client_id == AGENTS
    assert token.scope == {"orders:read", "orders:write"}
    assert token.expires_at > datetime.now(UTC).timestamp()


@pytest.mark.parametrize(
    ("scope", "scopes"), [(["a", "b"], {"a", "b"}), ("", set()), (None, set()), ([], set())]
)
def test_a_scope_may_be_a_list_or_missing(scope: Any, scopes: set[str], signed: Signed) -> None:
    signed["client_id"], signed["scope"] = AGENTS, scope
    assert verified(str(signed)).scope == scopes


def test_the_claims_may_have_other_names(signed: Signed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimpleJwtTokens, "client_claim", "azp")
    monkeypatch.setattr(SimpleJwtTokens, "scope_claim", "scp")
    signed["azp"], signed["scp"], signed["client_id"] = AGENTS, ["a"], "mobile-app"

    assert verified(str(signed)).client_id == AGENTS
    assert verified(str(signed)).scope == {"a"}
    assert client_of(signed) == AGENTS


def test_a_token_that_names_no_client_is_no_agents(issue: Issue) -> None:
    token = issue(None)

    with pytest.raises(InvalidToken, match="names no agent, or no user"):
        verified(token)
    assert client_of(token) is None
    assert not is_agent(token)


def test_a_token_that_names_no_user_is_refused() -> None:
    token = Signed()
    token["client_id"] = AGENTS

    with pytest.raises(InvalidToken, match="names no agent, or no user") as refused:
        verified(str(token))
    assert refused.value.client_id == AGENTS


def test_a_token_that_has_expired_is_refused_and_still_its_clients(issue: Issue) -> None:
    token = issue(lifetime=-1)

    with pytest.raises(InvalidToken, match="has expired") as refused:
        verified(token)
    assert refused.value.client_id == AGENTS
    assert client_of(token) == AGENTS
    assert client_of(issue(None, lifetime=-1)) is None


def test_the_moment_may_be_said(issue: Issue) -> None:
    token = issue(lifetime=60)

    assert verified(token, now=datetime.now(UTC) + timedelta(seconds=50))
    with pytest.raises(InvalidToken):
        verified(token, now=datetime.now(UTC) + timedelta(seconds=61))


def test_an_expired_token_has_to_be_the_sites_own_all_the_same(alice: Any) -> None:
    claims = {**Signed.for_user(alice).payload, "client_id": "mobile-app", "exp": 1}
    forged = jwt.encode(claims, "another key, long enough to sign tokens with", "HS256")
    own = jwt.encode(claims, site.SECRET_KEY, "HS256")

    assert client_of(own) == "mobile-app"
    with pytest.raises(InvalidToken, match="not one of the site's own"):
        client_of(forged)


@pytest.mark.parametrize(
    "token", ["", "null", "a.b.c", "eyJhbGciOiJub25lIn0.eyJleHAiOjk5OTk5OTk5OTl9.", "\u00e4.b.c"]
)
def test_what_is_no_token_of_the_site_cannot_be_told_of(token: str) -> None:
    with pytest.raises(InvalidToken):
        verified(token)
    with pytest.raises(InvalidToken):
        client_of(token)
    assert is_agent(token) is bool(token)


def test_a_refresh_token_is_none(alice: Any) -> None:
    token = str(RefreshToken.for_user(alice))
    with pytest.raises(InvalidToken):
        client_of(token)


@pytest.mark.parametrize("changed", [False, True])
def test_a_site_may_end_tokens_with_their_users_password(
    changed: bool, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_settings, "CHECK_REVOKE_TOKEN", True, raising=False)
    token = Signed.for_user(alice)
    token["client_id"] = AGENTS
    if changed:
        alice.set_password("another")
        alice.save()
        with pytest.raises(InvalidToken, match="is revoked") as refused:
            verified(str(token))
        assert refused.value.client_id == AGENTS
    else:
        assert verified(str(token)).client_id == AGENTS


# Who is an agent


@pytest.mark.parametrize(
    ("client_id", "agents"),
    [
        (AGENTS, True),
        ("https://nobody-listed.example/client", True),
        ("HTTP://agent.example/client", True),
        ("mobile-app", False),
        (URL_APPS, False),
        (None, False),
        (7, False),
    ],
)
def test_an_agent_is_a_client_with_a_url_that_is_not_named_as_an_own(
    client_id: Any, agents: bool, issue: Issue
) -> None:
    assert is_agent(issue(client_id)) is agents
    assert is_agent(issue(client_id, lifetime=-3600)) is agents


def test_a_token_in_a_cookie_is_judged_if_it_names_a_client(issue: Issue) -> None:
    assert is_agent("", HTTP_COOKIE=f"access={issue()}")
    assert not is_agent("", HTTP_COOKIE=f"access={issue('mobile-app')}")
    assert not is_agent("", HTTP_COOKIE=f"access={issue(None)}")
    assert not is_agent("", HTTP_COOKIE="access=a.b.c")


def test_other_credentials_are_judged_as_ever(alice: Any) -> None:
    assert client_of(alice) is None
    assert client_of(AccessToken("1", AGENTS, frozenset(), 1)) == AGENTS
    with pytest.raises(InvalidToken):
        client_of(object())


# At the doors


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("client_id", [None, "mobile-app", URL_APPS])
def test_an_expired_token_of_an_app_gets_the_packages_own_answer(
    client_id: str | None, view: str, issue: Issue, effects: Callable[[], list[str]]
) -> None:
    """By its 401 the app knows that it has to refresh."""
    answer = HEADER.send(view, issue(client_id, lifetime=-1))

    assert (answer.status_code, answer.json()["code"]) == (401, "token_not_valid")
    assert effects() == []


@pytest.mark.parametrize("view", VIEWS)
def test_an_app_that_is_named_orders_at_once_though_its_id_is_a_url(
    view: str, issue: Issue, effects: Callable[[], list[str]]
) -> None:
    assert HEADER.send(view, issue(URL_APPS)).status_code == 201
    assert effects() == [ORDERED]


def test_a_middleware_that_reads_cookies_lets_no_agent_through(
    issue: Issue, settings: Any, effects: Callable[[], list[str]]
) -> None:
    """A plain page of a site that signs in by a token in a cookie."""
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, f"{__name__}.sign_in_by_cookie"]
    form = {"sku": "jacket", "quantity": "1"}
    client = Client(headers={"host": HOST})
    client.cookies["access"] = issue()
    assert client.post("/buy/", form).status_code == 403
    assert effects() == []

    client.cookies["access"] = issue(None)
    assert client.post("/buy/", form).status_code == 302
    assert len(effects()) == 1


def sign_in_by_cookie(get_response: Any) -> Any:
    """Make the user of each request the one of the token in its cookie."""

    def middleware(request: Any) -> Any:
        token = Signed(request.COOKIES["access"])
        request.user = get_user_model().objects.get(pk=token["user_id"])
        return get_response(request)

    return middleware


def test_a_check_warns_of_a_company_that_does_not_know_the_clients(settings: Any) -> None:
    configure(settings, COMPANY="poppy_operations.company.Company")
    said = [one.msg for one in run_checks() if one.id == "poppy_operations.W013"]
    assert [" of simplejwt, " in one for one in said] == [True]


def test_a_text_that_is_no_jwt_does_not_look_like_a_token() -> None:
    assert not SimpleJwtTokens().looks_like_token("a.b.c")
