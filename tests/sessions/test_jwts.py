from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from poppy_operations.sessions.jwts import (
    LONGEST_JWT,
    BadJwt,
    check_lifetime,
    text_claim,
    time_claim,
    unverified_claims,
    unverified_header,
    verified_claims,
)
from poppy_operations.sessions.keys import PublicKey
from poppy_operations.testing.agents import compact_jwt, new_key

KEYS = {alg: new_key(alg) for alg in ("ES256", "EdDSA", "RS256")}


def signed(claims: Any = b'{"a": 1}', *, alg: str = "ES256", **header: object) -> str:
    return compact_jwt({"alg": alg, **header}, claims, KEYS[alg], alg)


def public(alg: str = "ES256") -> PublicKey:
    return PublicKey(alg, KEYS[alg].public_key())


def encoded(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()


@pytest.mark.parametrize("alg", ["ES256", "EdDSA", "RS256"])
def test_a_token_verifies_with_its_key(alg: str) -> None:
    assert verified_claims(signed(alg=alg), public(alg)) == {"a": 1}


@pytest.mark.parametrize("alg", ["ES256", "EdDSA", "RS256"])
def test_a_token_does_not_verify_with_another_key_of_its_kind(alg: str) -> None:
    with pytest.raises(BadJwt, match="does not verify"):
        verified_claims(signed(alg=alg), PublicKey(alg, new_key(alg).public_key()))


@pytest.mark.parametrize("alg", ["ES256", "EdDSA", "RS256"])
@pytest.mark.parametrize("other", ["ES256", "EdDSA", "RS256"])
def test_a_key_never_checks_by_another_algorithm_than_its_own(alg: str, other: str) -> None:
    token = compact_jwt({"alg": other}, {"a": 1}, KEYS[alg], alg)
    if alg == other:
        assert verified_claims(token, public(alg)) == {"a": 1}
    else:
        with pytest.raises(BadJwt):
            verified_claims(token, public(alg))


@pytest.mark.parametrize("alg", ["ES256", "EdDSA", "RS256"])
def test_a_key_of_the_wrong_type_is_a_bad_token_and_no_type_error(alg: str) -> None:
    other = {"ES256": "RS256", "EdDSA": "ES256", "RS256": "EdDSA"}[alg]
    with pytest.raises(BadJwt):
        verified_claims(signed(alg=alg), PublicKey(alg, KEYS[other].public_key()))


@pytest.mark.parametrize(
    "alg", ["none", "HS256", "HS512", "ES384", "ES256K", "PS256", "RS512", "EDDSA", "", None, 1, []]
)
def test_other_algorithms_are_refused_before_any_key_is_looked_for(alg: object) -> None:
    token = compact_jwt({"alg": alg}, {"a": 1}, KEYS["ES256"], "ES256")
    with pytest.raises(BadJwt, match="algorithm"):
        unverified_header(token)
    with pytest.raises(BadJwt):
        verified_claims(token, public())


def test_a_public_key_is_never_the_secret_of_an_hmac() -> None:
    pem = KEYS["ES256"].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    token = compact_jwt({"alg": "HS256"}, {"a": 1}, pem, "HS256")
    with pytest.raises(BadJwt):
        verified_claims(token, public())


def test_an_unsigned_token_is_refused() -> None:
    token = compact_jwt({"alg": "ES256"}, {"a": 1}, None, "none")
    with pytest.raises(BadJwt, match="not a compact JWT"):
        verified_claims(token, public())


def test_ed448_is_not_taken_for_ed25519() -> None:
    key = ed448.Ed448PrivateKey.generate()
    token = compact_jwt({"alg": "EdDSA"}, {"a": 1}, key, "EdDSA")
    with pytest.raises(BadJwt):
        verified_claims(token, public("EdDSA"))


def test_a_signature_on_another_curve_is_refused() -> None:
    key = ec.generate_private_key(ec.SECP384R1())
    token = compact_jwt({"alg": "ES256"}, {"a": 1}, key, "ES384")
    with pytest.raises(BadJwt):
        verified_claims(token, public())


@pytest.mark.parametrize(
    "extension",
    [{"crit": ["b64"], "b64": True}, {"crit": ["exp"]}, {"crit": []}, {"crit": 1}, {"b64": False}],
)
def test_critical_extensions_are_refused(extension: dict[str, Any]) -> None:
    token = signed(**extension)
    with pytest.raises(BadJwt):
        unverified_header(token)
    with pytest.raises(BadJwt):
        verified_claims(token, public())


@pytest.mark.parametrize(
    "header",
    [b"[]", b'"a"', b"1", b"null", b"", b"{", b"\xff", b"[" * 9000, b"{" + b'"a":{' * 1500],
)
def test_a_header_that_is_no_json_object_is_refused(header: bytes) -> None:
    token = f"{encoded(header)}.{encoded(b'{}')}.{encoded(b'signature')}"
    with pytest.raises(BadJwt):
        unverified_header(token)
    with pytest.raises(BadJwt):
        verified_claims(token, public())


@pytest.mark.parametrize(
    "claims", [b"[]", b'"a"', b"1", b"null", b"{", b"\xff", b"[" * 9000, b'{"a":' + b"9" * 5000]
)
def test_claims_that_are_no_json_object_are_refused(claims: bytes) -> None:
    token = signed(claims)
    with pytest.raises(BadJwt):
        unverified_claims(token)
    with pytest.raises(BadJwt):
        verified_claims(token, public())


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "a.b",
        "a.b.c.d",
        "a..b",
        "a.b.c\n",
        "ä.b.c",
        "a b.c.d",
        "a=.b.c",
        "\ud800.b.c",
    ],
)
def test_a_text_that_is_no_compact_jwt_is_refused(token: str) -> None:
    for read in (unverified_header, unverified_claims):
        with pytest.raises(BadJwt, match="not a compact JWT"):
            read(token)


def test_a_segment_that_is_no_base64_is_refused() -> None:
    with pytest.raises(BadJwt, match="base64url"):
        unverified_header("a.b.c")


def test_an_absurdly_long_token_is_refused_unread() -> None:
    token = signed({"a": "x" * LONGEST_JWT})
    with pytest.raises(BadJwt, match="too long"):
        unverified_claims(token)


def test_a_message_never_holds_what_the_caller_sent() -> None:
    secret = "hunter2"
    for token in (secret, signed({"sub": secret, "exp": secret}), signed(crit=[secret])):
        with pytest.raises(BadJwt) as refused:
            time_claim(verified_claims(token, public()), "exp")
        assert secret not in str(refused.value)


@pytest.mark.parametrize("value", [True, False, 1.0, "1", None, -1, 2**53, 10**30, [], {}])
def test_a_time_is_an_integer_within_2_to_the_53(value: object) -> None:
    with pytest.raises(BadJwt):
        time_claim({"iat": value}, "iat")


@pytest.mark.parametrize("value", [0, 1, 2**53 - 1])
def test_a_time_is_any_such_integer(value: int) -> None:
    assert time_claim({"iat": value}, "iat") == value


@pytest.mark.parametrize("value", ["", "a\x00", "\ud800", "a\n", "\x7f", "a" * 501, 1, None, []])
def test_a_text_that_no_database_should_see_is_refused(value: object) -> None:
    with pytest.raises(BadJwt):
        text_claim({"sub": value}, "sub")


def test_a_text_may_be_in_any_language() -> None:
    assert text_claim(json.loads('{"sub": "J\\u00e9"}'), "sub") == "Jé"


@pytest.mark.parametrize(
    ("issued_at", "expires_at"),
    [(1000, 1000), (1000, 1300), (1030, 1100), (700, 971), (1000, 1060)],
)
def test_a_lifetime_within_its_limits_is_accepted(issued_at: int, expires_at: int) -> None:
    claims: dict[str, object] = {"iat": issued_at, "exp": expires_at}
    assert check_lifetime(claims, longest=300, leeway=30, now=1000) == expires_at


@pytest.mark.parametrize(
    ("issued_at", "expires_at"),
    [(1031, 1100), (700, 970), (1000, 1301), (1000, 999), (None, 1100), (1000, None), (True, 60)],
)
def test_a_lifetime_beyond_its_limits_is_refused(issued_at: object, expires_at: object) -> None:
    claims = {"iat": issued_at, "exp": expires_at}
    with pytest.raises(BadJwt):
        check_lifetime(claims, longest=300, leeway=30, now=1000)
