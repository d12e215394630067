from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from contextlib import suppress
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, rsa
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from jwt.algorithms import get_default_algorithms

from poppy_operations.sessions.keys import (
    MOST_KEYS,
    MalformedKeySet,
    UnusableKey,
    matching_keys,
    parsed_key_set,
    public_key,
    usable_key_set,
)
from poppy_operations.testing.agents import new_key, public_jwk

ALGS = ("ES256", "EdDSA", "RS256")
JWKS: dict[str, dict[str, Any]] = {alg: public_jwk(new_key(alg), alg, kid=alg) for alg in ALGS}


def jwk_of(key: Any, alg: str) -> dict[str, Any]:
    jwk: dict[str, Any] = get_default_algorithms()[alg].to_jwk(key, as_dict=True)
    return jwk


def uint(number: int) -> str:
    content = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return urlsafe_b64encode(content).rstrip(b"=").decode()


@pytest.mark.parametrize("alg", ALGS)
def test_a_key_has_the_one_algorithm_of_its_type(alg: str) -> None:
    jwk = {name: value for name, value in JWKS[alg].items() if name != "alg"}
    assert public_key(jwk).alg == alg


@pytest.mark.parametrize("alg", ALGS)
def test_a_private_key_is_refused(alg: str) -> None:
    with pytest.raises(UnusableKey, match="private"):
        public_key(jwk_of(new_key(alg), alg))


@pytest.mark.parametrize("member", ["d", "p", "q", "dp", "dq", "qi", "oth", "k"])
def test_any_private_member_is_refused_whatever_it_holds(member: str) -> None:
    with pytest.raises(UnusableKey, match="private"):
        public_key({**JWKS["ES256"], member: None})


def test_a_symmetric_key_is_refused() -> None:
    with pytest.raises(UnusableKey, match="symmetric"):
        public_key({"kty": "oct", "k": "c2VjcmV0"})
    with pytest.raises(UnusableKey, match="type"):
        public_key({"kty": "oct"})


def test_ed448_is_refused() -> None:
    key = ed448.Ed448PrivateKey.generate().public_key()
    with pytest.raises(UnusableKey, match="curve"):
        public_key(jwk_of(key, "EdDSA"))


@pytest.mark.parametrize(
    ("curve", "alg"),
    [(ec.SECP384R1(), "ES384"), (ec.SECP521R1(), "ES512"), (ec.SECP256K1(), "ES256K")],
)
def test_other_curves_are_refused(curve: ec.EllipticCurve, alg: str) -> None:
    with pytest.raises(UnusableKey, match="curve"):
        public_key(jwk_of(ec.generate_private_key(curve).public_key(), alg))


def test_an_rsa_key_under_2048_bits_is_refused_without_a_warning() -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=1024).public_key()
    with pytest.raises(UnusableKey, match="bits"):
        public_key(jwk_of(key, "RS256"))


@pytest.mark.parametrize("changes", [{"n": uint(2**8200 + 1)}, {"e": uint(2**40 + 1)}])
def test_an_rsa_key_that_makes_checks_slow_is_refused(changes: dict[str, str]) -> None:
    with pytest.raises(UnusableKey, match="bits"):
        public_key({**JWKS["RS256"], **changes})


@pytest.mark.parametrize(
    "jwk",
    [
        None,
        [],
        "key",
        {},
        {"kty": ["EC"], "crv": {}},
        {**JWKS["ES256"], "crv": None},
        {**JWKS["RS256"], "crv": "P-256"},
        {**JWKS["ES256"], "x": 1},
        {**JWKS["ES256"], "x": "AAAA"},
        {**JWKS["ES256"], "y": JWKS["ES256"]["x"]},
        {**JWKS["ES256"], "x": "\ud800"},
        {**JWKS["EdDSA"], "x": "A"},
        {**JWKS["EdDSA"], "x": None},
        {**JWKS["RS256"], "e": "Ag"},
        {**JWKS["RS256"], "n": "A" * 2000},
        {**JWKS["ES256"], "alg": "ES384"},
        {**JWKS["RS256"], "alg": "PS256"},
        {**JWKS["ES256"], "use": "enc"},
        {**JWKS["ES256"], "key_ops": ["sign"]},
        {**JWKS["ES256"], "key_ops": "verify"},
    ],
)
def test_what_is_no_key_for_signatures_is_unusable_and_nothing_worse(jwk: object) -> None:
    with pytest.raises(UnusableKey):
        public_key(jwk)


def test_of_a_key_set_only_usable_public_keys_are_kept() -> None:
    private = {**jwk_of(new_key("ES256"), "ES256"), "kid": "lost"}
    document = {
        "keys": [private, {**JWKS["ES256"], "x5c": ["much"], "note": "\x00"}, {"kty": "oct"}, 7],
        "more": "of it",
    }
    kept = json.loads(usable_key_set(document))
    expected = {name: JWKS["ES256"][name] for name in ("kty", "crv", "x", "y", "alg", "kid")}
    assert kept == {"keys": [expected]}


def test_what_is_stored_of_a_key_set_is_plain_ascii() -> None:
    stored = usable_key_set({"keys": [{**JWKS["ES256"], "kid": "\x00\ud800ä"}]})
    assert stored.isascii()
    assert stored.isprintable()


def test_a_key_id_that_is_no_text_is_left_out() -> None:
    assert (
        "kid" not in json.loads(usable_key_set({"keys": [{**JWKS["ES256"], "kid": 1}]}))["keys"][0]
    )


@pytest.mark.parametrize("document", [None, [], {}, {"keys": {}}, {"keys": [1] * (MOST_KEYS + 1)}])
def test_what_is_no_key_set_is_malformed(document: object) -> None:
    with pytest.raises(MalformedKeySet):
        usable_key_set(document)


@pytest.mark.parametrize("text", ["", "{", b"\xff\xff", "[" * 100_000, '{"keys": 1}'])
def test_a_text_that_is_no_key_set_is_malformed(text: str | bytes) -> None:
    with pytest.raises(MalformedKeySet):
        parsed_key_set(text)


def test_keys_are_found_by_algorithm_and_key_id() -> None:
    stored = parsed_key_set(json.dumps({"keys": list(JWKS.values())}))
    assert [key.alg for key in matching_keys(stored, alg="EdDSA", kid="EdDSA")] == ["EdDSA"]
    assert matching_keys(stored, alg="EdDSA", kid="ES256") == ()
    assert [key.alg for key in matching_keys(stored, alg="RS256", kid=None)] == ["RS256"]


def test_two_keys_with_one_key_id_are_both_found() -> None:
    twins = [public_jwk(new_key("ES256"), "ES256", kid="same") for _ in range(2)]
    assert len(matching_keys({"keys": twins}, alg="ES256", kid="same")) == 2


@pytest.mark.parametrize(
    "stored", ["", "{", "[]", '{"keys": 1}', '{"keys": [1, {}]}', "[" * 100_000]
)
def test_a_stored_set_that_cannot_be_read_has_no_keys(stored: str) -> None:
    assert matching_keys(stored, alg="ES256", kid=None) == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
MEMBERS = st.sampled_from(["kty", "crv", "x", "y", "n", "e", "alg", "use", "key_ops", "kid", "d"])


@pytest.mark.slow
@hypothesis_settings(deadline=None)
@given(alg=st.sampled_from(ALGS), changes=st.dictionaries(MEMBERS, JSON))
def test_any_key_is_usable_or_unusable(alg: str, changes: dict[str, Any]) -> None:
    with suppress(UnusableKey):
        public_key({**JWKS[alg], **changes})
    assert isinstance(usable_key_set({"keys": [{**JWKS[alg], **changes}]}), str)
