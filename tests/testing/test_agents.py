from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
import time_machine

from poppy_operations.protocol.structured import parse_dictionary
from poppy_operations.testing.agents import (
    ABSENT,
    DELEGATION_LIFETIME,
    SESSION_LIFETIME,
    PersonalAgent,
    TokenIssuer,
    compact_jwt,
    new_key,
    public_jwk,
)

NOW = datetime(2026, 10, 8, 19, 0, tzinfo=UTC)
T = int(NOW.timestamp())
AUDIENCE = "https://shop.example"


def part_of(token: str, index: int) -> dict[str, Any]:
    encoded = token.split(".")[index]
    part: dict[str, Any] = json.loads(urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
    return part


@pytest.mark.parametrize("algorithm", ["ES256", "EdDSA", "RS256"])
def test_what_an_agent_signs_verifies_with_another_library(algorithm: str) -> None:
    agent = PersonalAgent(algorithm=algorithm)
    token = agent.session_token(audience=AUDIENCE)
    delegation = part_of(token, 0)["poppy_dlg"]
    published = jwt.PyJWK(agent.jwks["keys"][0])
    named = jwt.decode(delegation, published, algorithms=[algorithm])["cnf"]["jwk"]
    claims = jwt.decode(token, jwt.PyJWK(named), algorithms=[algorithm], audience=AUDIENCE)
    assert (claims["sub"], claims["sid"]) == ("u1", "ses_1")


def test_a_session_jwt_has_what_the_protocol_asks_for() -> None:
    agent = PersonalAgent("https://agent.example/me", kid="k9")
    token = agent.session_token(
        user_id="u2", sid="s2", audience=AUDIENCE, access_token="token", now=NOW
    )
    ath = urlsafe_b64encode(hashlib.sha256(b"token").digest()).decode().rstrip("=")
    assert part_of(token, 1) == {
        "iss": "https://agent.example/me",
        "sub": "u2",
        "aud": AUDIENCE,
        "sid": "s2",
        "iat": T,
        "exp": T + SESSION_LIFETIME,
        "ath": ath,
    }
    header = part_of(token, 0)
    assert (header["typ"], header["alg"]) == ("poppy-session+jwt", "ES256")
    delegation = header["poppy_dlg"]
    assert part_of(delegation, 0) == {"alg": "ES256", "kid": "k9"}
    assert part_of(delegation, 1)["exp"] == T + DELEGATION_LIFETIME
    assert "d" not in part_of(delegation, 1)["cnf"]["jwk"]


def test_claims_and_parameters_can_be_replaced_and_left_out() -> None:
    agent = PersonalAgent()
    token = agent.session_token(
        audience=AUDIENCE, header={"typ": ABSENT, "x": 1}, sub=7, exp=ABSENT
    )
    assert "typ" not in part_of(token, 0)
    assert part_of(token, 0)["x"] == 1
    assert part_of(token, 1)["sub"] == 7
    assert "exp" not in part_of(token, 1)
    assert part_of(agent.delegation(iss=ABSENT, header={"kid": 5}), 0)["kid"] == 5


def test_a_delegation_serves_for_many_requests_and_not_beyond_its_time() -> None:
    agent = PersonalAgent()

    def delegation_at(moment: datetime) -> object:
        return part_of(agent.session_token(audience=AUDIENCE, now=moment), 0)["poppy_dlg"]

    first = delegation_at(NOW)
    assert delegation_at(NOW + timedelta(minutes=58)) == first
    assert delegation_at(NOW + timedelta(minutes=59)) != first
    assert delegation_at(NOW) != first


def test_another_key_and_algorithm_can_sign() -> None:
    agent = PersonalAgent()
    key = new_key("EdDSA")
    token = agent.session_token(audience=AUDIENCE, key=key, algorithm="EdDSA")
    jws = jwt.PyJWS(algorithms=["ES256", "EdDSA"])
    with pytest.raises(jwt.InvalidSignatureError):
        jws.decode(token, agent.session_key.public_key(), algorithms=["ES256"])
    signature = token.rsplit(".", 1)[1]
    assert len(urlsafe_b64decode(signature + "==")) == 64


def test_any_bytes_can_be_signed() -> None:
    token = compact_jwt(b"\xff", b"", b"secret", "HS256")
    assert token.startswith("_w..")
    assert compact_jwt({"alg": "none"}, {}, None, "none").endswith(".")


@time_machine.travel(NOW, tick=False)
def test_headers_are_those_of_one_request() -> None:
    agent = PersonalAgent()
    headers = agent.headers(audience=AUDIENCE)
    assert set(headers) == {"Poppy-Session", "Poppy-Version", "Poppy-Extensions"}
    assert headers["Poppy-Extensions"] == '"operations";v="3"'
    assert part_of(headers["Poppy-Session"], 1)["iat"] == T
    assert agent.headers(audience=AUDIENCE)["Poppy-Session"] != headers["Poppy-Session"]


def test_headers_carry_a_token_and_an_approval() -> None:
    approval: dict[str, str | int] = {
        "operation_id": "op_1",
        "revision": 'a"b\\',
        "approver": "user",
        "approved_at": 5,
    }
    headers = PersonalAgent().headers(
        audience=AUDIENCE, access_token="token", declared=False, approval=approval
    )
    assert headers["Authorization"] == "Bearer token"
    assert "Poppy-Extensions" not in headers
    assert parse_dictionary(headers["Poppy-Approval"]) == approval


def test_an_issuers_token_is_an_access_token() -> None:
    issuer = TokenIssuer("https://login.example", audience="https://api.example")
    token = issuer.access_token("7", client_id="c", scope="a b", lifetime=60, now=NOW, jti="1")
    assert part_of(token, 0) == {"typ": "at+jwt", "alg": "ES256", "kid": "token-key-1"}
    with time_machine.travel(NOW, tick=False):
        claims = jwt.decode(
            token,
            jwt.PyJWK(issuer.jwks["keys"][0]),
            algorithms=["ES256"],
            audience="https://api.example",
        )
    assert claims == {
        "iss": "https://login.example",
        "aud": "https://api.example",
        "sub": "7",
        "client_id": "c",
        "scope": "a b",
        "iat": T,
        "exp": T + 60,
        "jti": "1",
    }


def test_keys_can_be_brought_along() -> None:
    key = new_key("EdDSA")
    agent = PersonalAgent(algorithm="EdDSA", key=key)
    assert agent.jwks["keys"] == [public_jwk(key, "EdDSA", kid="key-1", use="sig")]
    assert (
        TokenIssuer(algorithm="EdDSA", key=key).jwks["keys"][0]["x"] == agent.jwks["keys"][0]["x"]
    )


def test_no_key_is_made_for_an_algorithm_that_nobody_accepts() -> None:
    with pytest.raises(ValueError, match="HS256"):
        new_key("HS256")
