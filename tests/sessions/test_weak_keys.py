"""RSA keys of the faulty generator that is known as ROCA (CVE-2017-15361)."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from typing import Any

import pytest

from poppy_operations.sessions.agents import add_agent
from poppy_operations.sessions.keys import (
    UnusableKey,
    is_of_roca_form,
    matching_keys,
    public_key,
    usable_key_set,
)
from poppy_operations.sessions.refusals import InvalidSession
from poppy_operations.testing.agents import PersonalAgent, new_key, public_jwk
from tests.sessions.conftest import NOW, session_of

# Made for this test as the generator makes them, k·M + 65537^a mod M for both primes, where M is
# the product of the first 126 primes.
MODULUS = (
    "k9HtT-KQ4usFF9ydz0_ZQ3at5oShprccCzK0KOjraqB86GxPoqK-q8l7DN4wcvMVpLS65G_BjksiQiMiW2ld5KMIx0AjGT"
    "edzhy9etEGH2Bg9pBCX5yMBiJBhDq2Qe8EPakNj91AOtX8YZxhwRbXd88Jz4RaS5GG7XSFLPmv3y3Ryi_blSbOqUg1-vxD"
    "YcpSM1aI10_d7S-eIEbSp2gsCtLIUq3FuY26181EcOAsG2pB6l5AoCYs6Zz41BWZ0EfVAF3xuSxBCM2uEshkavOou89H13"
    "ab1bCxSbMrS5XfRQerR_nP3oxjLyUawKy-aAA70ATGkyrwEoSLB5vkQyV6_w"
)
WEAK = {"kty": "RSA", "e": "AQAB", "n": MODULUS, "alg": "RS256", "kid": "weak"}


def modulus_of(jwk: dict[str, Any]) -> int:
    return int.from_bytes(urlsafe_b64decode(jwk["n"] + "=="), "big")


def test_a_key_of_the_form_is_told_from_others() -> None:
    assert is_of_roca_form(modulus_of(WEAK))
    for _ in range(5):
        assert not is_of_roca_form(modulus_of(public_jwk(new_key("RS256"), "RS256")))


@pytest.mark.parametrize("prime", [3, 5, 7, 11, 13, 37, 97, 151, 167])
def test_each_small_prime_has_its_say(prime: int) -> None:
    """A modulus outside the group of one of them is not of the form, whatever the others say."""
    assert not is_of_roca_form(modulus_of(WEAK) * prime)


def test_it_is_refused_wherever_a_key_is_read() -> None:
    with pytest.raises(UnusableKey, match="ROCA"):
        public_key(WEAK)
    assert json.loads(usable_key_set({"keys": [WEAK]})) == {"keys": []}
    assert matching_keys({"keys": [WEAK]}, alg="RS256", kid="weak") == ()


def test_a_key_set_that_was_stored_before_is_not_trusted_for_it() -> None:
    stored = json.dumps({"keys": [WEAK]})
    assert matching_keys(stored, alg="RS256", kid="weak") == ()


@pytest.mark.django_db
def test_an_agent_with_no_other_key_is_not_added() -> None:
    with pytest.raises(ValueError, match="no key that is accepted"):
        add_agent("https://agent.example/client", jwks={"keys": [WEAK]})


def test_a_delegation_to_such_a_key_is_refused(agent: PersonalAgent) -> None:
    delegation = agent.delegation(now=NOW, cnf={"jwk": WEAK})
    headers = agent.headers(audience="https://shop.example", now=NOW, delegation=delegation)

    with pytest.raises(InvalidSession, match="ROCA"):
        session_of(headers)
