from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ed448, rsa
from jwt.algorithms import get_default_algorithms

from poppy_operations.sessions import delegations
from poppy_operations.sessions.agents import AgentKeys, add_agent, known_agent, refresh_keys
from poppy_operations.sessions.delegations import (
    Delegation,
    KnownDelegations,
    verified_delegation,
)
from poppy_operations.sessions.jwts import verified_claims
from poppy_operations.sessions.keys import PublicKey
from poppy_operations.sessions.refusals import InvalidSession, KeysUnavailable
from poppy_operations.testing.agents import (
    ABSENT,
    PersonalAgent,
    compact_jwt,
    new_key,
    public_jwk,
)
from tests.sessions.conftest import AUDIENCE, NOW, KeyServer, session_of

pytestmark = pytest.mark.django_db

T = int(NOW.timestamp())
DAY = 24 * 3600


def headers(agent: PersonalAgent, delegation: object = None, **changes: Any) -> dict[str, str]:
    return agent.headers(audience=AUDIENCE, now=NOW, delegation=delegation, **changes)


def refused(agent: PersonalAgent, delegation: object, **changes: Any) -> None:
    with pytest.raises(InvalidSession):
        session_of(headers(agent, delegation, **changes))


@pytest.mark.parametrize("algorithm", ["ES256", "EdDSA", "RS256"])
def test_a_delegation_by_the_published_key_is_accepted(algorithm: str) -> None:
    agent = PersonalAgent(algorithm=algorithm)
    add_agent(agent.client_id, jwks=agent.jwks)
    assert session_of(headers(agent)).client_id == agent.client_id


def test_published_and_session_key_may_be_of_different_kinds(agent: PersonalAgent) -> None:
    key = new_key("EdDSA")
    delegation = agent.delegation(now=NOW, cnf={"jwk": public_jwk(key, "EdDSA")})
    token_header = {"alg": "EdDSA"}
    assert session_of(
        headers(agent, delegation, key=key, algorithm="EdDSA", header=token_header)
    ).sid


@pytest.mark.parametrize(
    "claims",
    [
        {"iat": T - DAY + 60, "exp": T + 60},
        {"iat": T + 30, "exp": T + 60},
        {"iat": T - 100, "exp": T - 29},
        {"iat": T, "exp": T + DAY},
        {"jti": [], "sub": 7, "aud": {}},
    ],
)
def test_a_delegation_within_its_limits_is_accepted(
    agent: PersonalAgent, claims: dict[str, Any]
) -> None:
    assert session_of(headers(agent, agent.delegation(now=NOW, **claims))).sid


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": ABSENT},
        {"iss": 1},
        {"iss": "https://other.example/client"},
        {"iss": "https://AGENT.example/client"},
        {"iss": "https://agent.example/client "},
        {"iss": "\ud800"},
        {"iss": "https://agent.example/client\x00"},
        {"iss": "https://agent.example/" + "a" * 500},
        {"iat": ABSENT},
        {"iat": True},
        {"iat": float(T)},
        {"iat": T + 31},
        {"iat": -1},
        {"exp": ABSENT},
        {"exp": T - 30, "iat": T - 60},
        {"exp": T + DAY + 1},
        {"exp": 10**30},
        {"exp": str(T + 60)},
        {"iat": T, "exp": T - 1},
        {"cnf": ABSENT},
        {"cnf": None},
        {"cnf": []},
        {"cnf": {}},
        {"cnf": {"jwk": None}},
        {"cnf": {"jwk": {"kty": "oct", "k": "c2VjcmV0"}}},
        {"cnf": {"jkt": "thumbprint"}},
    ],
)
def test_a_delegation_with_a_bad_claim_is_refused(
    agent: PersonalAgent, claims: dict[str, Any]
) -> None:
    refused(agent, agent.delegation(now=NOW, **claims))


@pytest.mark.parametrize(
    "header",
    [
        {"alg": "none"},
        {"alg": "HS256"},
        {"alg": "ES384"},
        {"alg": "EdDSA"},
        {"alg": ABSENT},
        {"alg": ["ES256"]},
        {"kid": ABSENT},
        {"kid": "other"},
        {"kid": 1},
        {"kid": None},
        {"kid": ["key-1"]},
        {"crit": ["exp"]},
        {"b64": False},
        {"jwk": public_jwk(new_key("ES256"), "ES256"), "kid": "mine"},
    ],
)
def test_a_delegation_with_a_bad_header_is_refused(
    agent: PersonalAgent, header: dict[str, object]
) -> None:
    refused(agent, agent.delegation(now=NOW, header=header))


@pytest.mark.parametrize(
    "delegation", [1, True, ["a.b.c"], {"a": 1}, "a", "a.b.c", "..", "a" * 9000, "\ud800"]
)
def test_what_is_no_delegation_is_refused(agent: PersonalAgent, delegation: object) -> None:
    refused(agent, delegation)


def test_a_session_jwt_without_a_delegation_is_refused(agent: PersonalAgent) -> None:
    refused(agent, None, header={"poppy_dlg": ABSENT})


def test_a_delegation_by_a_key_of_ones_own_is_refused(agent: PersonalAgent) -> None:
    refused(agent, agent.delegation(now=NOW, key=new_key("ES256")))


def test_a_delegation_by_the_session_key_itself_is_refused(agent: PersonalAgent) -> None:
    refused(agent, agent.delegation(now=NOW, key=agent.session_key))


def test_a_private_key_in_a_delegation_is_refused(agent: PersonalAgent) -> None:
    private = get_default_algorithms()["ES256"].to_jwk(agent.session_key, as_dict=True)
    refused(agent, agent.delegation(now=NOW, cnf={"jwk": private}))


def test_ed448_in_a_delegation_is_refused(agent: PersonalAgent) -> None:
    key = ed448.Ed448PrivateKey.generate()
    jwk = get_default_algorithms()["EdDSA"].to_jwk(key.public_key(), as_dict=True)
    delegation = agent.delegation(now=NOW, cnf={"jwk": jwk})
    refused(agent, delegation, key=key, algorithm="EdDSA", header={"alg": "EdDSA"})


def test_a_short_rsa_key_in_a_delegation_is_refused_without_a_warning(
    agent: PersonalAgent,
) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    jwk = get_default_algorithms()["RS256"].to_jwk(key.public_key(), as_dict=True)
    delegation = agent.delegation(now=NOW, cnf={"jwk": jwk})
    refused(agent, delegation, key=key, algorithm="RS256", header={"alg": "RS256"})


def test_an_hmac_with_the_public_key_as_its_secret_is_refused(agent: PersonalAgent) -> None:
    secret = str(agent.jwks["keys"][0]).encode()
    claims = {"iss": agent.client_id, "iat": T, "exp": T + 60}
    token = compact_jwt({"alg": "HS256", "kid": agent.kid}, claims, secret, "HS256")
    refused(agent, token)


def test_two_agents_with_one_key_id_cannot_speak_for_each_other(agent: PersonalAgent) -> None:
    other = PersonalAgent("https://other.example/client", kid=agent.kid)
    add_agent(other.client_id, jwks=other.jwks)
    assert session_of(headers(agent)).client_id == agent.client_id
    assert session_of(headers(other)).client_id == other.client_id
    refused(other, other.delegation(now=NOW, iss=agent.client_id), iss=agent.client_id)
    refused(other, agent.delegation(now=NOW))
    refused(agent, None, iss=other.client_id)


def test_a_delegation_is_not_verified_for_another_agent_than_its_own(
    agent: PersonalAgent,
) -> None:
    row = known_agent(agent.client_id)
    delegation = agent.delegation(now=NOW, iss="https://other.example/client")
    with pytest.raises(InvalidSession, match="own"):
        verified_delegation(delegation, row, AgentKeys(row), leeway=30, now=T)


def test_two_keys_with_one_key_id_both_count() -> None:
    agent = PersonalAgent()
    twin = public_jwk(new_key("ES256"), "ES256", kid=agent.kid)
    add_agent(agent.client_id, jwks={"keys": [twin, *agent.jwks["keys"]]})
    assert session_of(headers(agent)).sid


# Known delegations


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The delegations whose signatures were checked."""
    checked: list[str] = []

    def noted(token: str, key: PublicKey) -> dict[str, object]:
        checked.append(token)
        return verified_claims(token, key)

    monkeypatch.setattr(delegations, "verified_claims", noted)
    return checked


def test_a_known_delegation_is_not_checked_again(agent: PersonalAgent, checks: list[str]) -> None:
    for _ in range(3):
        assert session_of(headers(agent)).sid
    assert len(checks) == 1


def test_a_known_delegation_ends_when_it_expires(agent: PersonalAgent) -> None:
    delegation = agent.delegation(now=NOW, exp=T + 60)
    assert session_of(headers(agent, delegation)).sid
    later = NOW + timedelta(seconds=90)
    token = agent.session_token(audience=AUDIENCE, now=later, delegation=delegation)
    with pytest.raises(InvalidSession, match="expired"):
        session_of({"Poppy-Session": token}, now=later)


def test_a_known_delegation_does_not_outlive_its_key(
    agent: PersonalAgent, checks: list[str]
) -> None:
    assert session_of(headers(agent)).sid
    add_agent(agent.client_id, jwks=PersonalAgent().jwks)
    refused(agent, None)
    add_agent(agent.client_id, jwks=agent.jwks)
    assert session_of(headers(agent)).sid
    assert len(checks) == 2  # the second against the key set in between


def test_a_known_delegation_does_not_outlive_a_key_that_is_no_longer_published(
    key_server: KeyServer, settings: Any
) -> None:
    settings.DEBUG = True
    agent = PersonalAgent(f"{key_server.url}/client")
    key_server.serve(agent.jwks)
    row = add_agent(agent.client_id, jwks_uri=f"{key_server.url}/jwks")
    refresh_keys(row, now=NOW)
    assert session_of(headers(agent)).sid
    key_server.serve({"keys": []})
    later = NOW + timedelta(minutes=10)
    token = agent.session_token(audience=AUDIENCE, now=later)
    with pytest.raises(InvalidSession):
        session_of({"Poppy-Session": token}, now=later)


def test_a_known_delegation_is_of_no_use_without_usable_keys(
    key_server: KeyServer, settings: Any
) -> None:
    settings.DEBUG = True
    agent = PersonalAgent(f"{key_server.url}/client")
    key_server.serve(agent.jwks)
    row = add_agent(agent.client_id, jwks_uri=f"{key_server.url}/jwks")
    refresh_keys(row, now=NOW)
    day = agent.delegation(now=NOW, exp=T + DAY)
    assert session_of(headers(agent, day)).sid
    key_server.answer = key_server.not_found
    for minutes, usable in ((10, True), (69, True), (70, False)):
        later = NOW + timedelta(minutes=minutes)
        token = agent.session_token(audience=AUDIENCE, now=later, delegation=day)
        if usable:
            assert session_of({"Poppy-Session": token}, now=later).sid
        else:
            with pytest.raises(KeysUnavailable):
                session_of({"Poppy-Session": token}, now=later)


def test_the_memory_of_delegations_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KnownDelegations, "MOST", 2)
    memory = KnownDelegations()
    key = PublicKey("ES256", new_key("ES256").public_key())
    one = Delegation("https://agent.example/client", key, 0, 1, b"")
    memory.put("a", one)
    memory.put("b", one)
    assert memory.get("a") is one
    memory.put("c", one)
    assert memory.get("b") is None
    assert memory.get("a") is memory.get("c") is one
