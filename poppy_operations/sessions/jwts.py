"""Compact JWTs as strangers send them: limits first, then the signature, then types.

Signatures are checked by PyJWT's algorithms, and only by a key whose one algorithm is the token's.
A token is taken apart here, once: PyJWT would do so again, and is generous about some forms.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import cached_property
from typing import Final

import jwt
from jwt.algorithms import get_default_algorithms

from poppy_operations.models.lengths import URL_LENGTH
from poppy_operations.sessions.keys import ALGORITHMS, PublicKey

# Twice what web servers let through in a header; an RSA delegation in a Session JWT has 3 kB.
LONGEST_JWT: Final = 16 * 1024
LARGEST_CLAIM: Final = 2**53 - 1

_COMPACT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_DEFAULTS = get_default_algorithms()
_VERIFIERS: Final = {alg: _DEFAULTS[alg] for alg in ALGORITHMS}


class BadJwt(ValueError):
    """The text is no JWT that we accept. The message repeats nothing of it but names of members."""


class Jwt:
    """A compact JWT, each part of which is read once, when it is asked for.

    Nobody vouches for it yet. Raises ``BadJwt`` for a text that is none, or too long for one.
    """

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST_JWT or _COMPACT.fullmatch(text) is None:
            message = "The text is not a compact JWT, or too long for one."
            raise BadJwt(message)
        self._parts = text.split(".")

    @cached_property
    def header(self) -> dict[str, object]:
        """The header.

        Raises:
            BadJwt: malformed, of an algorithm that is not accepted, or with critical extensions, of
                which we know none.

        """
        header = _json_object(_decoded(self._parts[0]))
        if header.get("alg") not in ALGORITHMS:
            message = "The JWT has an algorithm that is not accepted."
            raise BadJwt(message)
        if "crit" in header or "b64" in header:
            message = "The JWT has critical extensions."
            raise BadJwt(message)
        return header

    @cached_property
    def claims(self) -> dict[str, object]:
        """The claims. Raises ``BadJwt`` if they are malformed."""
        return _json_object(_decoded(self._parts[1]))

    def is_signed_by(self, key: PublicKey) -> bool:
        """Whether the signature is that of a key, by the key's one algorithm."""
        if self.header["alg"] != key.alg:
            return False
        signature, verifier = _decoded(self._parts[2]), _VERIFIERS[key.alg]
        signed = f"{self._parts[0]}.{self._parts[1]}".encode()
        try:
            return bool(verifier.verify(signed, verifier.prepare_key(key.key), signature))
        except (jwt.PyJWTError, TypeError, ValueError):
            return False


def unverified_header(token: Jwt | str) -> dict[str, object]:
    """Read the header of a compact JWT. Raises as ``Jwt`` and its ``header``."""
    return taken_apart(token).header


def is_of_type(header: dict[str, object], media_type: str) -> bool:
    """Whether the ``typ`` of a JWT's header is that media type (RFC 7515, 4.1.9).

    Media types are compared without regard to case, and ``application/`` may be left out.
    """
    typ = header.get("typ")
    return isinstance(typ, str) and typ.lower().removeprefix("application/") == media_type


def unverified_claims(token: Jwt | str) -> dict[str, object]:
    """Read the claims of a compact JWT, to learn whose key is needed.

    Raises:
        BadJwt: malformed or too long.

    """
    return taken_apart(token).claims


def verified_claims(token: Jwt | str, key: PublicKey) -> dict[str, object]:
    """Check the signature with ``key`` and read the claims.

    Raises:
        BadJwt: malformed, or not signed with that key and the algorithm that is the key's.

    """
    parts = taken_apart(token)
    if not isinstance(parts.header.get("kid", ""), str):
        message = "The JWT names its key by something that is no text."
        raise BadJwt(message)
    if not parts.is_signed_by(key):
        message = "The JWT's signature does not verify."
        raise BadJwt(message)
    return parts.claims


def taken_apart(token: Jwt | str) -> Jwt:
    """Take a token apart, unless that has been done."""
    return token if isinstance(token, Jwt) else Jwt(token)


def text_claim(claims: dict[str, object], name: str, *, longest: int = URL_LENGTH) -> str:
    """Give a claim that is text and can be stored: 1 to ``longest`` printable characters.

    Raises:
        BadJwt: absent, no text, or with control characters or lone surrogates.

    """
    value = claims.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= longest or not value.isprintable():
        message = f"The claim {name!r} is not a text of 1 to {longest} printable characters."
        raise BadJwt(message)
    return value


def time_claim(claims: dict[str, object], name: str) -> int:
    """Give a claim that is a time in whole seconds since 1970.

    Raises:
        BadJwt: absent, no integer (a boolean is none), negative or beyond 2**53.

    """
    value = claims.get(name)
    if type(value) is not int or not 0 <= value <= LARGEST_CLAIM:
        message = f"The claim {name!r} is not a time in whole seconds."
        raise BadJwt(message)
    return value


def check_lifetime(claims: dict[str, object], *, longest: int, leeway: int, now: int) -> int:
    """Check ``iat`` and ``exp``, at most ``longest`` seconds apart, and give ``exp``.

    Raises:
        BadJwt: one of them is absent or ill-typed, or it is too early, too late or too long.

    """
    issued_at, expires_at = time_claim(claims, "iat"), time_claim(claims, "exp")
    if issued_at > now + leeway:
        message = "The JWT is issued in the future."
    elif expires_at + leeway <= now:
        message = "The JWT has expired."
    elif not 0 <= expires_at - issued_at <= longest:
        message = f"The JWT's `exp` is not within {longest} seconds after its `iat`."
    else:
        return expires_at
    raise BadJwt(message)


def _decoded(part: str) -> bytes:
    try:
        content = urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except ValueError:
        content = b""
    # Of the spellings that differ in bits which nobody reads, one is base64url's (RFC 4648, 3.5).
    if urlsafe_b64encode(content).rstrip(b"=") != part.encode():
        message = "A part of the JWT is not base64url."
        raise BadJwt(message)
    return content


def _json_object(content: bytes) -> dict[str, object]:
    try:
        value = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        message = "A part of the JWT is not JSON."
        raise BadJwt(message) from None
    if not isinstance(value, dict):
        message = "A part of the JWT is not a JSON object."
        raise BadJwt(message)
    return value
