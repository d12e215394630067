"""Compact JWTs as strangers send them: limits first, then the signature, then types.

Signatures are checked by PyJWT, and only by a key whose one algorithm is the token's. Everything
that PyJWT is generous about, or refuses with an exception that is no ``InvalidTokenError``, is
settled here.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode
from typing import Final

import jwt

from poppy_operations.models.lengths import URL_LENGTH
from poppy_operations.sessions.keys import ALGORITHMS, PublicKey

# Twice what web servers let through in a header; an RSA delegation in a Session JWT has 3 kB.
LONGEST_JWT: Final = 16 * 1024
LARGEST_CLAIM: Final = 2**53 - 1

_COMPACT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_JWS = jwt.PyJWS(algorithms=list(ALGORITHMS))


class BadJwt(ValueError):
    """The text is no JWT that we accept. The message repeats nothing of it but names of members."""


def unverified_header(token: str) -> dict[str, object]:
    """Read the header of a compact JWT, which nobody vouches for yet.

    Raises:
        BadJwt: malformed, too long, of an algorithm that is not accepted, or with critical
            extensions, of which we know none.

    """
    header = _json_object(_part(token, 0))
    if header.get("alg") not in ALGORITHMS:
        message = "The JWT has an algorithm that is not accepted."
        raise BadJwt(message)
    _check_extensions(header)
    return header


def is_of_type(header: dict[str, object], media_type: str) -> bool:
    """Whether the ``typ`` of a JWT's header is that media type (RFC 7515, 4.1.9).

    Media types are compared without regard to case, and ``application/`` may be left out.
    """
    typ = header.get("typ")
    return isinstance(typ, str) and typ.lower().removeprefix("application/") == media_type


def unverified_claims(token: str) -> dict[str, object]:
    """Read the claims of a compact JWT, to learn whose key is needed.

    Raises:
        BadJwt: malformed or too long.

    """
    return _json_object(_part(token, 1))


def verified_claims(token: str, key: PublicKey) -> dict[str, object]:
    """Check the signature with ``key`` and read the claims.

    Raises:
        BadJwt: malformed, or not signed with that key and the algorithm that is the key's.

    """
    _check_form(token)
    try:
        decoded = _JWS.decode_complete(token, key.key, algorithms=[key.alg])
    except (jwt.PyJWTError, TypeError, ValueError, RecursionError) as error:
        message = f"The JWT's signature does not verify ({type(error).__name__})."
        raise BadJwt(message) from None
    _check_extensions(decoded["header"])
    return _json_object(decoded["payload"])


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


def _check_form(token: str) -> None:
    if len(token) > LONGEST_JWT or _COMPACT.fullmatch(token) is None:
        message = "The text is not a compact JWT, or too long for one."
        raise BadJwt(message)


def _part(token: str, index: int) -> bytes:
    _check_form(token)
    encoded = token.split(".")[index]
    try:
        return urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
    except ValueError:
        message = "A part of the JWT is not base64url."
        raise BadJwt(message) from None


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


def _check_extensions(header: dict[str, object]) -> None:
    if "crit" in header or "b64" in header:
        message = "The JWT has critical extensions."
        raise BadJwt(message)
