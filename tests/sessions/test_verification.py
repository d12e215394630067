from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from io import BytesIO
from typing import Any

import pytest
import time_machine
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest
from django.test import AsyncRequestFactory, RequestFactory
from pytest_django import DjangoAssertNumQueries

from poppy_operations.models import Agent
from poppy_operations.sessions.agents import add_agent, revoke_agent
from poppy_operations.sessions.refusals import (
    InvalidSession,
    InvalidToken,
    InvalidVersion,
    KeysUnavailable,
)
from poppy_operations.sessions.session import Session
from poppy_operations.sessions.tokens import AccessToken, TokenVerifier
from poppy_operations.sessions.verification import (
    SessionHeaders,
    SessionVerifier,
    has_session,
    verify,
)
from poppy_operations.testing.agents import ABSENT, PersonalAgent, TokenIssuer, new_key
from tests.configuring import configure
from tests.sessions.conftest import AUDIENCE, NOW, KeyServer, session_of

pytestmark = pytest.mark.django_db

T = int(NOW.timestamp())


def headers(agent: PersonalAgent, **changes: Any) -> dict[str, str]:
    return agent.headers(audience=changes.pop("audience", AUDIENCE), now=NOW, **changes)


def token_for(issuer: TokenIssuer, agent: PersonalAgent, **changes: Any) -> str:
    return issuer.access_token("7", client_id=agent.client_id, now=NOW, **changes)


# What is accepted


def test_a_signed_out_session_has_no_account(agent: PersonalAgent) -> None:
    session = session_of(headers(agent, user_id="u9", sid="ses_9"))
    assert session == Session(agent.client_id, "u9", None, "ses_9", declared=True)


def test_a_signed_in_session_is_its_tokens_account(
    agent: PersonalAgent, issuer: TokenIssuer
) -> None:
    token = token_for(issuer, agent, scope="orders:write")
    session = session_of(headers(agent, access_token=token))
    assert (session.account, session.scope) == ("7", frozenset({"orders:write"}))
    assert session.token_expires_at == T + 3600


@time_machine.travel(NOW, tick=False)
def test_the_time_is_now_unless_it_is_given(agent: PersonalAgent) -> None:
    request = RequestFactory().get("/", headers=agent.headers(audience=AUDIENCE))
    assert verify(request) == verify(request, now=NOW)


@pytest.mark.parametrize("declared", [True, False])
def test_a_request_declares_operations_for_itself_alone(
    agent: PersonalAgent, declared: bool
) -> None:
    assert session_of(headers(agent, declared=declared)).declared is declared


@pytest.mark.parametrize("extensions", ["", '"operations"', 'operations;v="3"', "(", "\x00", "ä"])
def test_what_does_not_declare_operations_is_no_reason_to_refuse(
    agent: PersonalAgent, extensions: str
) -> None:
    sent = {**headers(agent), "Poppy-Extensions": extensions}
    assert session_of(sent).declared is False


@pytest.mark.parametrize(
    "claims",
    [
        {"iat": T + 30, "exp": T + 60},
        {"iat": T, "exp": T + 300},
        {"iat": T - 60, "exp": T - 29},
        {"jti": 7},
        {"nbf": "never"},
        {"sub": "a" * 256, "sid": "A-_9"},
    ],
)
def test_a_session_jwt_within_its_limits_is_accepted(
    agent: PersonalAgent, claims: dict[str, Any]
) -> None:
    assert session_of(headers(agent, **claims)).sid


@pytest.mark.parametrize("version", [None, "1", "1.0", "1.7", "1.0.1", " 1.0 "])
def test_version_1_and_no_version_are_accepted(agent: PersonalAgent, version: str | None) -> None:
    sent = headers(agent)
    del sent["Poppy-Version"]
    assert session_of(sent if version is None else {**sent, "Poppy-Version": version}).sid


# What is refused as a Session


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": ABSENT},
        {"iss": 1},
        {"iss": "https://other.example/client"},
        {"iss": "https://agent.example/CLIENT"},
        {"aud": ABSENT},
        {"aud": "https://other.example"},
        {"aud": "https://shop.example/"},
        {"aud": "https://SHOP.example"},
        {"aud": [AUDIENCE]},
        {"aud": {AUDIENCE: 1}},
        {"sub": ABSENT},
        {"sub": 1},
        {"sub": ""},
        {"sub": "u 1"},
        {"sub": "u1\n"},
        {"sub": "u1\x00"},
        {"sub": "\ud800"},
        {"sub": "ü"},
        {"sub": "a" * 257},
        {"sub": ["u1"]},
        {"sid": ABSENT},
        {"sid": None},
        {"sid": "a.b"},
        {"sid": "\ud800"},
        {"sid": "s\x00"},
        {"sid": "a" * 257},
        {"iat": ABSENT},
        {"iat": True},
        {"iat": float(T)},
        {"iat": str(T)},
        {"iat": 10**30},
        {"iat": -1},
        {"iat": T + 31},
        {"iat": T + 300, "exp": T + 360},
        {"exp": ABSENT},
        {"exp": True},
        {"exp": None},
        {"exp": 10**30},
        {"exp": T - 30, "iat": T - 60},
        {"exp": T + 301},
        {"exp": T - 1, "iat": T},
        {"ath": "x"},
        {"ath": None},
        {"ath": 1},
        {"ath": "ä"},
    ],
)
def test_a_session_jwt_with_a_bad_claim_is_refused(
    agent: PersonalAgent, claims: dict[str, Any]
) -> None:
    with pytest.raises(InvalidSession):
        session_of(headers(agent, **claims))


@pytest.mark.parametrize(
    "header",
    [
        {"typ": ABSENT},
        {"typ": "JWT"},
        {"typ": "at+jwt"},
        {"typ": 1},
        {"alg": ABSENT},
        {"alg": "none"},
        {"alg": "HS256"},
        {"alg": "RS256"},
        {"alg": "ES384"},
        {"alg": {}},
        {"crit": ["exp"]},
        {"crit": ["b64"], "b64": False},
    ],
)
def test_a_session_jwt_with_a_bad_header_is_refused(
    agent: PersonalAgent, header: dict[str, object]
) -> None:
    with pytest.raises(InvalidSession):
        session_of(headers(agent, header=header))


def test_a_session_jwt_by_another_key_is_refused(agent: PersonalAgent) -> None:
    for key in (new_key("ES256"), agent.key):
        with pytest.raises(InvalidSession):
            session_of(headers(agent, key=key))


def test_a_session_jwt_whose_secret_is_the_public_key_is_refused(agent: PersonalAgent) -> None:
    secret = str(agent.jwks).encode()
    with pytest.raises(InvalidSession):
        session_of(headers(agent, header={"alg": "HS256"}, key=secret, algorithm="HS256"))


def test_an_access_token_is_no_session_jwt(agent: PersonalAgent, issuer: TokenIssuer) -> None:
    with pytest.raises(InvalidSession):
        session_of({"Poppy-Session": token_for(issuer, agent)})


@pytest.mark.parametrize(
    "value", ["", " ", "x", "a.b.c", ",", "null", "\x00", "ä.ö.ü", "a" * 20_000]
)
def test_a_header_that_is_no_jwt_is_present_and_refused(value: str) -> None:
    request = RequestFactory().get("/", headers={"Poppy-Session": value})
    assert has_session(request)
    with pytest.raises(InvalidSession):
        verify(request, now=NOW)


def test_a_request_without_the_header_has_no_session() -> None:
    request = RequestFactory().get("/")
    assert not has_session(request)
    with pytest.raises(InvalidSession, match="no Poppy-Session"):
        verify(request, now=NOW)


@pytest.mark.parametrize("joint", [",", ", ", " "])
def test_two_sessions_joined_by_the_server_are_refused(agent: PersonalAgent, joint: str) -> None:
    sent = headers(agent)
    with pytest.raises(InvalidSession):
        session_of({**sent, "Poppy-Session": joint.join([sent["Poppy-Session"]] * 2)})


def test_two_session_headers_in_asgi_are_refused(agent: PersonalAgent) -> None:
    value = headers(agent)["Poppy-Session"].encode()
    request = AsyncRequestFactory().get("/")
    doubled = {**request.scope, "headers": [(b"poppy-session", value)] * 2}
    request = ASGIRequest(doubled, BytesIO())
    assert has_session(request)
    with pytest.raises(InvalidSession):
        verify(request, now=NOW)


def test_one_session_header_in_asgi_is_accepted(agent: PersonalAgent) -> None:
    request = AsyncRequestFactory().get("/", headers=headers(agent))
    assert verify(request, now=NOW).user_id == "u1"


# Agents


def test_an_agent_that_is_not_on_the_list_is_refused() -> None:
    with pytest.raises(InvalidSession, match="allow-list"):
        session_of(headers(PersonalAgent()))


def test_a_revoked_agent_is_refused_at_once(agent: PersonalAgent) -> None:
    assert session_of(headers(agent)).sid
    revoke_agent(agent.client_id)
    with pytest.raises(InvalidSession, match="revoked"):
        session_of(headers(agent))


def test_an_agent_found_without_regard_to_case_is_another_agent(
    agent: PersonalAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    Agent.objects.update(client_id=agent.client_id.upper())
    queryset = type(Agent.objects.all())
    monkeypatch.setattr(queryset, "filter", lambda self, **_: self.all())
    with pytest.raises(InvalidSession, match="allow-list"):
        session_of(headers(agent))


@pytest.mark.parametrize("known", [False, True])
def test_verifying_is_one_query(
    agent: PersonalAgent,
    issuer: TokenIssuer,
    django_assert_num_queries: DjangoAssertNumQueries,
    known: bool,
) -> None:
    sent = headers(agent, access_token=token_for(issuer, agent))
    if known:
        session_of(sent)
    with django_assert_num_queries(1):
        session_of(sent)


def test_garbage_costs_no_query(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    garbage = PersonalAgent("https://agent.example/\x00").headers(audience=AUDIENCE, now=NOW)
    for sent in ({"Poppy-Session": "a.b.c"}, garbage):
        with django_assert_num_queries(0), pytest.raises(InvalidSession):
            session_of(sent)


def test_keys_that_cannot_be_loaded_are_not_an_invalid_session(
    key_server: KeyServer, settings: Any
) -> None:
    settings.DEBUG = True
    agent = PersonalAgent(f"{key_server.url}/client")
    add_agent(agent.client_id, jwks_uri=f"{key_server.url}/jwks")
    with pytest.raises(KeysUnavailable):
        session_of(headers(agent))


def test_keys_are_loaded_when_an_agent_first_asks(key_server: KeyServer, settings: Any) -> None:
    settings.DEBUG = True
    agent = PersonalAgent(f"{key_server.url}/client")
    add_agent(agent.client_id, jwks_uri=f"{key_server.url}/jwks")
    key_server.serve(agent.jwks)
    assert session_of(headers(agent)).client_id == agent.client_id


# Versions


@pytest.mark.parametrize(
    "version", ["2.0", "0.9", "10.0", "", "one", "1.", "1.0, 2.0", "1.0\x00", "\uff11.0"]
)
def test_another_major_version_is_a_request_we_do_not_understand(
    agent: PersonalAgent, version: str
) -> None:
    with pytest.raises(InvalidVersion):
        session_of({**headers(agent), "Poppy-Version": version})


def test_the_version_comes_before_the_session() -> None:
    with pytest.raises(InvalidVersion):
        session_of({"Poppy-Session": "from the future", "Poppy-Version": "2.0"})


# Access tokens


def test_a_token_of_another_agent_is_refused(agent: PersonalAgent, issuer: TokenIssuer) -> None:
    token = issuer.access_token("7", client_id="https://other.example/client", now=NOW)
    with pytest.raises(InvalidToken, match="another Personal Agent"):
        session_of(headers(agent, access_token=token))


def test_another_token_than_the_one_signed_for_is_an_invalid_session(
    agent: PersonalAgent, issuer: TokenIssuer
) -> None:
    sent = headers(agent, access_token=token_for(issuer, agent))
    other = token_for(issuer, agent, scope="orders:write")
    with pytest.raises(InvalidSession, match="another access token"):
        session_of({**sent, "Authorization": f"Bearer {other}"})


@pytest.mark.parametrize("authorization", [None, "Basic dXNlcjpwYXNz", "Bearertoken", "DPoP x"])
def test_a_session_jwt_made_for_a_token_is_refused_without_it(
    agent: PersonalAgent, issuer: TokenIssuer, authorization: str | None
) -> None:
    sent = headers(agent, access_token=token_for(issuer, agent))
    del sent["Authorization"]
    with pytest.raises(InvalidSession):
        session_of(sent if authorization is None else {**sent, "Authorization": authorization})


def test_an_expired_token_with_a_matching_ath_is_an_invalid_token(
    agent: PersonalAgent, issuer: TokenIssuer
) -> None:
    earlier = NOW - timedelta(hours=1, seconds=30)
    token = issuer.access_token("7", client_id=agent.client_id, now=earlier)
    with pytest.raises(InvalidToken):
        session_of(headers(agent, access_token=token))
    within_leeway = issuer.access_token(
        "7", client_id=agent.client_id, now=earlier + timedelta(seconds=1)
    )
    assert session_of(headers(agent, access_token=within_leeway)).account == "7"


@pytest.mark.parametrize("token", ["opaque", "a.b.c", "", "a,Bearer b", "\xe4", "a" * 20_000])
def test_a_malformed_token_with_a_valid_session_is_an_invalid_token(
    agent: PersonalAgent, issuer: TokenIssuer, token: str
) -> None:
    sent = headers(agent)
    with pytest.raises(InvalidToken):
        session_of({**sent, "Authorization": f"Bearer {token}"})


def test_a_bad_session_hides_a_bad_token(agent: PersonalAgent) -> None:
    with pytest.raises(InvalidSession):
        session_of(headers(agent, access_token="opaque", exp=T - 60, iat=T - 90))


def test_the_scheme_is_read_without_regard_to_case(
    agent: PersonalAgent, issuer: TokenIssuer
) -> None:
    token = token_for(issuer, agent)
    sent = headers(agent, access_token=token)
    assert session_of({**sent, "Authorization": f"bEARER   {token}"}).account == "7"


def test_credentials_of_another_scheme_are_no_access_token(agent: PersonalAgent) -> None:
    sent = {**headers(agent), "Authorization": "Basic dXNlcjpwYXNz"}
    assert session_of(sent).account is None


def test_without_ath_a_token_is_accepted_unless_the_setting_says_no(
    agent: PersonalAgent, issuer: TokenIssuer, settings: Any
) -> None:
    sent = headers(agent, access_token=token_for(issuer, agent), ath=ABSENT)
    assert session_of(sent).account == "7"
    configure(settings, REQUIRE_ATH=True)
    with pytest.raises(InvalidSession, match="ath"):
        session_of(sent)
    assert session_of(headers(agent)).account is None


# Replacing a part


class OpaqueTokens(TokenVerifier):
    def verify(self, token: str, *, now: datetime | None = None) -> AccessToken:
        return AccessToken(token, "https://agent.example/client", frozenset(), T + 60)


class Verifier(SessionVerifier):
    token_verifier = OpaqueTokens()


def test_a_site_can_verify_tokens_its_own_way(agent: PersonalAgent) -> None:
    request = RequestFactory().get("/", headers=headers(agent, access_token="42"))
    assert Verifier().verify(request, now=NOW).account == "42"


def test_headers_can_come_from_elsewhere_than_a_django_request(agent: PersonalAgent) -> None:
    sent: Mapping[str, str] = {name.lower(): value for name, value in headers(agent).items()}
    presented = SessionHeaders.from_mapping(sent)
    assert SessionVerifier().verify_headers(presented, now=NOW).declared
    request: HttpRequest = RequestFactory().get("/", headers=headers(agent))
    assert SessionHeaders.of(request).version == presented.version == "1.0"


def test_the_leeway_is_a_setting(agent: PersonalAgent, settings: Any) -> None:
    sent = headers(agent, iat=T + 45, exp=T + 60)
    with pytest.raises(InvalidSession):
        session_of(sent)
    configure(settings, LEEWAY=timedelta(minutes=1))
    assert session_of(sent).sid


def test_a_message_never_holds_what_the_caller_sent(agent: PersonalAgent) -> None:
    for changes in (
        {"sub": "hunter2 "},
        {"sid": "hunter2 "},
        {"aud": "hunter2"},
        {"exp": "hunter2"},
    ):
        with pytest.raises(InvalidSession) as refused:
            session_of(headers(agent, **changes))
        assert "hunter2" not in str(refused.value)
