"""Whatever a stranger sends, the answer is a Session or a refusal, and never another error."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from poppy_operations.sessions.refusals import SessionRefused
from poppy_operations.sessions.session import Session
from poppy_operations.testing.agents import ABSENT, PersonalAgent, TokenIssuer, compact_jwt
from tests.sessions.conftest import AUDIENCE, NOW, session_of

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

T = int(NOW.timestamp())
TEXT = st.text(st.characters(exclude_categories=()), max_size=40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(T - 400, T + 400) | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)
VALUE = JSON | st.just(ABSENT)
HEADER = st.dictionaries(
    st.sampled_from(["typ", "alg", "kid", "crit", "b64", "poppy_dlg", "jwk", "x5c"]) | TEXT,
    VALUE,
    max_size=4,
)
CLAIMS = st.dictionaries(
    st.sampled_from(
        ["iss", "sub", "aud", "sid", "iat", "exp", "nbf", "ath", "cnf", "client_id", "scope"]
    ),
    VALUE,
    max_size=4,
)
HEADER_VALUE = st.text(st.characters(max_codepoint=255), max_size=60)
any_input = hypothesis_settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def outcome(headers: dict[str, str]) -> None:
    with suppress(SessionRefused):
        assert isinstance(session_of(headers), Session)


@any_input
@given(header=st.binary(max_size=60), claims=st.binary(max_size=60))
def test_bytes_in_a_signed_session_jwt(agent: PersonalAgent, header: bytes, claims: bytes) -> None:
    good = {
        "typ": "poppy-session+jwt",
        "alg": agent.algorithm,
        "poppy_dlg": agent.delegation(now=NOW),
    }
    for token in (
        compact_jwt(header, claims, agent.session_key, "ES256"),
        compact_jwt(good, claims, agent.session_key, "ES256"),
    ):
        outcome({"Poppy-Session": token})


@any_input
@given(header=st.binary(max_size=60), claims=st.binary(max_size=60))
def test_bytes_in_a_signed_delegation(agent: PersonalAgent, header: bytes, claims: bytes) -> None:
    good = {"alg": agent.algorithm, "kid": agent.kid}
    for part in (header, good):
        delegation = compact_jwt(part, claims, agent.key, "ES256")
        outcome(agent.headers(audience=AUDIENCE, now=NOW, delegation=delegation))


@any_input
@given(header=st.binary(max_size=60), claims=st.binary(max_size=60))
def test_bytes_in_a_signed_access_token(
    agent: PersonalAgent, issuer: TokenIssuer, header: bytes, claims: bytes
) -> None:
    good = {"typ": "at+jwt", "alg": issuer.algorithm, "kid": issuer.kid}
    for part in (header, good):
        token = compact_jwt(part, claims, issuer.key, "ES256")
        outcome(agent.headers(audience=AUDIENCE, now=NOW, access_token=token))


@any_input
@given(header=HEADER, claims=CLAIMS)
def test_json_in_a_signed_session_jwt(
    agent: PersonalAgent, header: dict[str, Any], claims: dict[str, Any]
) -> None:
    outcome(agent.headers(audience=AUDIENCE, now=NOW, header=header, **claims))
    outcome(agent.headers(audience=AUDIENCE, now=NOW, **claims))


@any_input
@given(header=HEADER, claims=CLAIMS, jwk=st.none() | st.dictionaries(TEXT, JSON, max_size=3))
def test_json_in_a_signed_delegation(
    agent: PersonalAgent, header: dict[str, Any], claims: dict[str, Any], jwk: Any
) -> None:
    if jwk is not None:
        claims = {**claims, "cnf": {"jwk": {**agent.jwks["keys"][0], **jwk}}}
    for part in (header, {}):
        delegation = agent.delegation(now=NOW, header=part, **claims)
        outcome(agent.headers(audience=AUDIENCE, now=NOW, delegation=delegation))


@any_input
@given(header=HEADER, claims=CLAIMS)
def test_json_in_a_signed_access_token(
    agent: PersonalAgent, issuer: TokenIssuer, header: dict[str, Any], claims: dict[str, Any]
) -> None:
    members = {"client_id": agent.client_id, **claims}
    for part in (header, {}):
        token = issuer.access_token("7", now=NOW, header=part, **members)
        outcome(agent.headers(audience=AUDIENCE, now=NOW, access_token=token))


@any_input
@given(
    sent=st.dictionaries(
        st.sampled_from(["Poppy-Session", "Poppy-Version", "Poppy-Extensions", "Authorization"]),
        HEADER_VALUE | HEADER_VALUE.map("Bearer ".__add__),
    )
)
def test_text_in_any_header(agent: PersonalAgent, sent: dict[str, str]) -> None:
    outcome(sent)
    outcome({**agent.headers(audience=AUDIENCE, now=NOW), **sent})


@any_input
@given(index=st.integers(0, 1500), character=st.characters(max_codepoint=255))
def test_a_session_jwt_with_one_character_changed(
    agent: PersonalAgent, index: int, character: str
) -> None:
    token = agent.session_token(audience=AUDIENCE, now=NOW)
    index %= len(token)
    outcome({"Poppy-Session": token[:index] + character + token[index + 1 :]})
