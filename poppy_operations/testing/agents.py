"""A Personal Agent and a token issuer for tests, with a handle on everything that they sign.

Nothing here belongs into production: the keys live in memory and every check that a real agent
makes is left out, so that a test can send what a real agent never would.

    agent = PersonalAgent()
    add_agent(agent.client_id, jwks=agent.jwks)
    client.post("/api/orders", headers=agent.headers(audience="https://shop.example"))

Any claim or header parameter can be replaced by keyword, or left out with ``ABSENT``.
"""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import get_default_algorithms

from poppy_operations.protocol.structured import poppy_approval

PrivateKey = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey

ABSENT: Final = object()
SESSION_LIFETIME: Final = 60
DELEGATION_LIFETIME: Final = 3600


def new_key(algorithm: str) -> PrivateKey:
    """Make a private key for ``ES256``, ``EdDSA`` or ``RS256``.

    Raises:
        ValueError: for any other algorithm.

    """
    if algorithm == "ES256":
        return ec.generate_private_key(ec.SECP256R1())
    if algorithm == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    if algorithm == "RS256":
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)
    message = f"No key can be made for the algorithm {algorithm!r}: use ES256, EdDSA or RS256."
    raise ValueError(message)


def public_jwk(key: PrivateKey, algorithm: str, **members: object) -> dict[str, Any]:
    """Give the public half of ``key`` as a JWK with ``alg`` and these further members."""
    to_jwk = get_default_algorithms()[algorithm].to_jwk
    return {**to_jwk(key.public_key(), as_dict=True), "alg": algorithm, **members}


def compact_jwt(
    header: Mapping[str, object] | bytes,
    claims: Mapping[str, object] | bytes,
    key: object,
    algorithm: str,
) -> str:
    """Sign a compact JWT; header and claims may be any bytes, and the key any key.

    ``algorithm`` signs, whatever the header says. If it is ``none``, the signature is empty.
    """
    signed = b".".join(_base64url(_json_bytes(part)) for part in (header, claims))
    signature = get_default_algorithms()[algorithm].sign(signed, key)
    return b".".join((signed, _base64url(signature))).decode("ascii")


def _json_bytes(part: Mapping[str, object] | bytes) -> bytes:
    return part if isinstance(part, bytes) else json.dumps(part).encode("ascii")


def _base64url(content: bytes) -> bytes:
    return urlsafe_b64encode(content).rstrip(b"=")


def _epoch(now: datetime | None) -> int:
    return int((now or datetime.now(UTC)).timestamp())


def _replaced(members: Mapping[str, object], *others: Mapping[str, object]) -> dict[str, object]:
    merged = dict(members)
    for other in others:
        merged.update(other)
    return {name: value for name, value in merged.items() if value is not ABSENT}


class PersonalAgent:
    """A Personal Agent with a published key and a key of its own for Session JWTs.

    ``key`` signs delegations and is published in ``jwks`` as ``kid``; ``session_key`` signs
    Session JWTs and is what a delegation names.
    """

    def __init__(
        self,
        client_id: str = "https://agent.example/client",
        *,
        algorithm: str = "ES256",
        kid: str = "key-1",
        key: PrivateKey | None = None,
    ) -> None:
        self.client_id = client_id
        self.algorithm = algorithm
        self.kid = kid
        self.key = key or new_key(algorithm)
        self.session_key = new_key(algorithm)
        self._delegation: tuple[int, str] | None = None

    @property
    def jwks(self) -> dict[str, Any]:
        """The key set that the agent publishes."""
        return {"keys": [public_jwk(self.key, self.algorithm, kid=self.kid, use="sig")]}

    def delegation(
        self,
        *,
        now: datetime | None = None,
        header: Mapping[str, object] | None = None,
        key: object = None,
        algorithm: str | None = None,
        **claims: object,
    ) -> str:
        """Sign a delegation, by which the published key vouches for ``session_key``."""
        issued_at = _epoch(now)
        return compact_jwt(
            _replaced({"alg": self.algorithm, "kid": self.kid}, header or {}),
            _replaced(
                {
                    "iss": self.client_id,
                    "iat": issued_at,
                    "exp": issued_at + DELEGATION_LIFETIME,
                    "cnf": {"jwk": public_jwk(self.session_key, self.algorithm)},
                },
                claims,
            ),
            key or self.key,
            algorithm or self.algorithm,
        )

    def session_token(
        self,
        *,
        user_id: str = "u1",
        sid: str = "ses_1",
        audience: str,
        access_token: str | None = None,
        now: datetime | None = None,
        delegation: object = None,
        header: Mapping[str, object] | None = None,
        key: object = None,
        algorithm: str | None = None,
        **claims: object,
    ) -> str:
        """Sign a Session JWT for one request, with the last valid delegation if none is given."""
        issued_at = _epoch(now)
        ath = ABSENT
        if access_token is not None:
            ath = _base64url(hashlib.sha256(access_token.encode()).digest()).decode("ascii")
        return compact_jwt(
            _replaced(
                {
                    "typ": "poppy-session+jwt",
                    "alg": self.algorithm,
                    "poppy_dlg": delegation or self._kept_delegation(issued_at),
                },
                header or {},
            ),
            _replaced(
                {
                    "iss": self.client_id,
                    "sub": user_id,
                    "aud": audience,
                    "sid": sid,
                    "iat": issued_at,
                    "exp": issued_at + SESSION_LIFETIME,
                    "ath": ath,
                },
                claims,
            ),
            key or self.session_key,
            algorithm or self.algorithm,
        )

    def _kept_delegation(self, now: int) -> str:
        if self._delegation is not None:
            issued_at, delegation = self._delegation
            if issued_at <= now < issued_at + DELEGATION_LIFETIME - SESSION_LIFETIME:
                return delegation
        delegation = self.delegation(now=datetime.fromtimestamp(now, UTC))
        self._delegation = (now, delegation)
        return delegation

    def headers(
        self,
        *,
        user_id: str = "u1",
        sid: str = "ses_1",
        audience: str,
        access_token: str | None = None,
        declared: bool = True,
        approval: Mapping[str, str | int] | None = None,
        now: datetime | None = None,
        **overrides: Any,
    ) -> dict[str, str]:
        """Give the headers of one request, with a Session JWT of its own.

        ``approval`` has the members of an Approval; ``overrides`` go to ``session_token``.
        """
        token = self.session_token(
            user_id=user_id,
            sid=sid,
            audience=audience,
            access_token=access_token,
            now=now,
            **overrides,
        )
        headers = {"Poppy-Session": token, "Poppy-Version": "1.0"}
        if declared:
            headers["Poppy-Extensions"] = '"operations";v="3"'
        if access_token is not None:
            headers["Authorization"] = f"Bearer {access_token}"
        if approval is not None:
            headers["Poppy-Approval"] = poppy_approval(approval)
        return headers


class TokenIssuer:
    """An authorization server that issues JWT access tokens (RFC 9068)."""

    def __init__(
        self,
        issuer: str = "https://shop.example",
        *,
        audience: str = "https://shop.example",
        algorithm: str = "ES256",
        kid: str = "token-key-1",
        key: PrivateKey | None = None,
    ) -> None:
        self.issuer = issuer
        self.audience = audience
        self.algorithm = algorithm
        self.kid = kid
        self.key = key or new_key(algorithm)

    @property
    def jwks(self) -> dict[str, Any]:
        """The key set for ``POPPY_OPERATIONS["TOKEN_JWKS"]``."""
        return {"keys": [public_jwk(self.key, self.algorithm, kid=self.kid, use="sig")]}

    def access_token(
        self,
        account: str,
        *,
        client_id: str,
        scope: str = "",
        lifetime: int = 3600,
        now: datetime | None = None,
        header: Mapping[str, object] | None = None,
        key: object = None,
        algorithm: str | None = None,
        **claims: object,
    ) -> str:
        """Issue a token for ``account`` to the agent; ``lifetime`` is in seconds."""
        issued_at = _epoch(now)
        return compact_jwt(
            _replaced(
                {"typ": "at+jwt", "alg": self.algorithm, "kid": self.kid},
                header or {},
            ),
            _replaced(
                {
                    "iss": self.issuer,
                    "aud": self.audience,
                    "sub": account,
                    "client_id": client_id,
                    "scope": scope,
                    "iat": issued_at,
                    "exp": issued_at + lifetime,
                },
                claims,
            ),
            key or self.key,
            algorithm or self.algorithm,
        )
