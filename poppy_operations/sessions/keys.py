"""Public keys: which are accepted, and what is kept of a key set.

The allow-list is by key, not by token: each accepted key has exactly one algorithm, so that a
token can never choose how it is checked. Private and symmetric keys are never accepted, wherever
they are shown: whoever shows a private key has lost it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import get_default_algorithms

ALGORITHMS: Final = ("ES256", "EdDSA", "RS256")
MOST_KEYS: Final = 100
SHORTEST_RSA_BITS: Final = 2048
LONGEST_RSA_BITS: Final = 8192

_BASE64URL = re.compile(r"[A-Za-z0-9_-]{1,1400}")
_PRIVATE: Final = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})
# By type and curve: the algorithm, and the members that make up the public key.
_ACCEPTED: Final[Mapping[tuple[str, str | None], tuple[str, tuple[str, ...]]]] = {
    ("EC", "P-256"): ("ES256", ("x", "y")),
    ("OKP", "Ed25519"): ("EdDSA", ("x",)),
    ("RSA", None): ("RS256", ("n", "e")),
}
_READERS: Final = {alg: get_default_algorithms()[alg].from_jwk for alg in ALGORITHMS}
_ROCA_PRIMES: Final = (
    *(3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97),
    *(101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167),
)
_ROCA_POWERS: Final = {
    prime: frozenset(pow(65537, exponent, prime) for exponent in range(prime))
    for prime in _ROCA_PRIMES
}
_Key = ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey | rsa.RSAPublicKey


class UnusableKey(ValueError):
    """What should be a JWK is none, or its key is not accepted. The message says why."""


class MalformedKeySet(ValueError):
    """A document that is no JWK set. The message says why."""


@dataclass(frozen=True)
class PublicKey:
    """A key that checks signatures, with the one algorithm that it checks them by."""

    alg: str
    key: _Key


def public_key(jwk: object) -> PublicKey:
    """Read a JWK: P-256 for ES256, Ed25519 for EdDSA, or RSA of 2048 bits or more for RS256.

    Raises:
        UnusableKey: anything else, and any key with a private member.

    """
    alg, members = _public_members(jwk)
    try:
        key = _READERS[alg](members)
    except (jwt.PyJWTError, ValueError):
        message = "The JWK's members do not make a key."
        raise UnusableKey(message) from None
    if isinstance(key, rsa.RSAPublicKey):
        _check_rsa(key)
    return PublicKey(alg, key)


def _public_members(jwk: object) -> tuple[str, dict[str, str]]:
    if not isinstance(jwk, dict):
        message = "The JWK is not a JSON object."
        raise UnusableKey(message)
    if not _PRIVATE.isdisjoint(jwk):
        message = "The JWK is a private or symmetric key."
        raise UnusableKey(message)
    kind = jwk.get("kty"), jwk.get("crv")
    # By comparison, since what a stranger sends need not be hashable.
    accepted = next((found for known, found in _ACCEPTED.items() if known == kind), None)
    if accepted is None:
        message = "The JWK is of a type or curve that is not accepted."
        raise UnusableKey(message)
    alg, names = accepted
    if not _may_verify(jwk, alg):
        message = f"The JWK is not for checking signatures by {alg}."
        raise UnusableKey(message)
    members = {name: jwk.get(name) for name in names}
    if not all(isinstance(v, str) and _BASE64URL.fullmatch(v) for v in members.values()):
        message = f"The JWK's members {', '.join(names)} are not all base64url text."
        raise UnusableKey(message)
    curve = {} if kind[1] is None else {"crv": kind[1]}
    return alg, {"kty": kind[0], **curve, **members}


def _may_verify(jwk: Mapping[str, object], alg: str) -> bool:
    operations = jwk.get("key_ops", ["verify"])
    return (
        jwk.get("alg", alg) == alg
        and jwk.get("use", "sig") == "sig"
        and isinstance(operations, list)
        and "verify" in operations
    )


def _check_rsa(key: rsa.RSAPublicKey) -> None:
    numbers = key.public_numbers()
    # A long exponent or modulus makes each check as slow as its author likes.
    if not SHORTEST_RSA_BITS <= key.key_size <= LONGEST_RSA_BITS or numbers.e >= 2**32:
        message = (
            f"RSA keys have {SHORTEST_RSA_BITS} to {LONGEST_RSA_BITS} bits and a small exponent."
        )
        raise UnusableKey(message)
    if is_of_roca_form(numbers.n):
        message = "The RSA key is of a form that can be factored (CVE-2017-15361, ROCA)."
        raise UnusableKey(message)


def is_of_roca_form(modulus: int) -> bool:
    """Whether an RSA modulus is one of those that a faulty generator made, and can be factored.

    Both primes of such a modulus are powers of 65537 modulo each of the first primes, and so is
    the modulus. By chance that is true of one modulus in 2**27 or fewer.
    """
    return all(modulus % prime in powers for prime, powers in _ROCA_POWERS.items())


def usable_key_set(document: object) -> str:
    """Reduce a JWK set to the keys that are usable, as JSON text.

    Each key keeps its ``kid``, ``alg`` and public members only. A set may also have keys for other
    purposes, and nothing else that it holds is stored.

    Raises:
        MalformedKeySet: the document is no object with a list ``keys``, or that list is too long.

    """
    keys = document.get("keys") if isinstance(document, Mapping) else None
    if not isinstance(keys, list | tuple):
        message = "The key set is not a JSON object with a list `keys`."
        raise MalformedKeySet(message)
    if len(keys) > MOST_KEYS:
        message = f"The key set has more than {MOST_KEYS} keys."
        raise MalformedKeySet(message)
    usable = [kept for kept in map(_kept_members, keys) if kept is not None]
    return json.dumps({"keys": usable}, separators=(",", ":"))


def parsed_key_set(text: str | bytes) -> str:
    """Read a JWK set from JSON text or bytes and reduce it to the usable keys.

    Raises:
        MalformedKeySet: no JSON, or no JWK set.

    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        message = "The key set is not JSON."
        raise MalformedKeySet(message) from None
    return usable_key_set(document)


def _kept_members(jwk: object) -> dict[str, str] | None:
    if not isinstance(jwk, dict):
        return None
    try:
        alg, members = _public_members(jwk)
        public_key(jwk)
    except UnusableKey:
        return None
    kid = jwk.get("kid")
    return {**members, "alg": alg, **({"kid": kid} if isinstance(kid, str) else {})}


def matching_keys(
    key_set: str | Mapping[str, Any], *, alg: object, kid: object
) -> tuple[PublicKey, ...]:
    """Give the usable keys of a set with that algorithm and ``kid``; ``None`` is any ``kid``.

    There may be several: nothing keeps a set from using a ``kid`` twice. If the set cannot be
    read, there are none.
    """
    try:
        document = json.loads(key_set or "{}") if isinstance(key_set, str) else key_set
        return tuple(_matching(document.get("keys", ()), alg, kid))
    except (ValueError, AttributeError, TypeError, RecursionError):
        return ()


def _matching(jwks: Iterable[object], alg: object, kid: object) -> Iterator[PublicKey]:
    for jwk in jwks:
        if isinstance(jwk, dict) and (kid is None or jwk.get("kid") == kid):
            with suppress(UnusableKey):
                key = public_key(jwk)
                if key.alg == alg:
                    yield key
