"""Access tokens beside a Session: JWTs of the Company's token issuer (RFC 9068).

If a site has other tokens (introspection, its identity provider's library), it gives
``SessionVerifier`` a ``TokenVerifier`` of its own.
"""

from __future__ import annotations

import hashlib
import threading
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from poppy_operations.conf import conf
from poppy_operations.declarations.arguments import require_identity, require_number, scopes
from poppy_operations.models.lengths import ID_LENGTH
from poppy_operations.sessions.clock import epoch
from poppy_operations.sessions.jwts import (
    BadJwt,
    Jwt,
    is_of_type,
    text_claim,
    time_claim,
    unverified_claims,
    unverified_header,
    verified_claims,
)
from poppy_operations.sessions.key_sets import RemoteKeySet
from poppy_operations.sessions.keys import PublicKey, matching_keys
from poppy_operations.sessions.known import Known
from poppy_operations.sessions.refusals import InvalidToken

AT_JWT: Final = "at+jwt"
SCOPE_LENGTH: Final = 2000


@dataclass(frozen=True)
class AccessToken:
    """What a verified access token says; ``expires_at`` in seconds since 1970.

    Raises ``TypeError`` if a value has another type: a verifier of the site's own makes it.
    """

    account: str
    client_id: str
    scope: frozenset[str]
    expires_at: int

    def __post_init__(self) -> None:
        require_identity("AccessToken.account", self.account)
        require_identity("AccessToken.client_id", self.client_id)
        object.__setattr__(self, "scope", scopes("AccessToken.scope", self.scope))
        require_number("AccessToken.expires_at", self.expires_at)


@dataclass(frozen=True)
class SignedToken:
    """The claims of a token, and the key set with which its signature was checked."""

    claims: dict[str, object]
    key_set: object


class KnownTokens(Known[bytes, SignedToken]):
    """The access tokens whose signatures were checked last, by the digests of their texts."""


class TokenVerifier:
    """Verifies JWT access tokens against ``POPPY_OPERATIONS["TOKEN_JWKS"]``."""

    known_tokens = KnownTokens()

    def verify(self, token: str, *, now: datetime | None = None) -> AccessToken:
        """Verify a token and say whose it is.

        Raises:
            InvalidToken: it is not a valid access token for this Company, or has expired.
            KeysUnavailable: the issuer's keys cannot be loaded.

        """
        try:
            return self.read(self.claims(token, now=epoch(now)))
        except BadJwt as error:
            message = f"The access token is refused: {error}"
            raise InvalidToken(message) from None

    def looks_like_token(self, text: str) -> bool:
        """Whether a JWT that came in another place, such as a cookie, says it is an access token.

        Most JWTs in such places are something else. Nobody is asked, and no key is needed.
        """
        try:
            token = Jwt(text)
            header, claims = unverified_header(token), unverified_claims(token)
        except BadJwt:
            return False
        return is_of_type(header, AT_JWT) and claims.get("iss") == conf.token_issuer

    def claims(self, token: str, *, now: int) -> dict[str, object]:
        """Give the claims of a token that the issuer signed and that is valid now.

        Raises BadJwt, or InvalidToken if the issuer signed it but it is not valid here and now.
        """
        claims = self._signed_claims(token, now=now)
        try:
            self.check(claims, now=now)
        except BadJwt as error:
            message = f"The access token is refused: {error}"
            client_id = claims.get("client_id")
            known = client_id if isinstance(client_id, str) else None
            raise InvalidToken(message, client_id=known) from None
        return claims

    def _signed_claims(self, token: str, *, now: int) -> dict[str, object]:
        """Give the claims of a token that the issuer signed.

        The signature is checked once, as long as the issuer's key set is the very one that it was
        checked with. A verifier with ``keys`` of its own may have other ones each time.
        """
        if type(self).keys is not TokenVerifier.keys:
            return self._verified_claims(token, now=now)
        # By its digest, so that no token stays in memory.
        text = hashlib.sha256(token.encode(errors="surrogatepass")).digest()
        known = self.known_tokens.get(text)
        if known is None or known.key_set != _key_set(now):
            before = deepcopy(_key_set())
            known = SignedToken(self._verified_claims(token, now=now), before)
            if before == _key_set():  # If not, nobody knows by which of the two.
                self.known_tokens.put(text, known)
        return dict(known.claims)

    def _verified_claims(self, token: str, *, now: int) -> dict[str, object]:
        parts = Jwt(token)
        header = unverified_header(parts)
        if not is_of_type(header, AT_JWT):
            message = "The JWT's type is not that of access tokens."
            raise BadJwt(message)
        for key in self.keys(alg=header["alg"], kid=header.get("kid"), now=now):
            with suppress(BadJwt):
                return verified_claims(parts, key)
        message = "It is not signed by a key of the token issuer."
        raise BadJwt(message)

    def keys(self, *, alg: object, kid: object, now: int) -> tuple[PublicKey, ...]:
        """Give the issuer's keys for the algorithm and ``kid`` of a token's header.

        Raises:
            KeysUnavailable: they cannot be loaded.

        """
        key_set = conf.token_jwks or {}
        if isinstance(key_set, str):
            return _remote(key_set).matching(alg=alg, kid=kid, now=now)
        return matching_keys(key_set, alg=alg, kid=kid)

    def check(self, claims: dict[str, object], *, now: int) -> None:
        """Check issuer, audience and times. Raises BadJwt."""
        leeway = int(conf.leeway.total_seconds())
        audience = claims.get("aud")
        if claims.get("iss") != conf.token_issuer:
            message = "It has another issuer."
        elif conf.token_audience not in (audience if isinstance(audience, list) else [audience]):
            message = "It is for another audience."
        elif time_claim(claims, "exp") + leeway <= now:
            message = "It has expired."
        elif any(name in claims and time_claim(claims, name) > now + leeway for name in _STARTS):
            message = "It is not valid yet."
        else:
            return
        raise BadJwt(message)

    def read(self, claims: dict[str, object]) -> AccessToken:
        """Say whose token it is. Raises BadJwt."""
        scope = text_claim(claims, "scope", longest=SCOPE_LENGTH) if claims.get("scope") else ""
        return AccessToken(
            account=text_claim(claims, "sub", longest=ID_LENGTH),
            client_id=text_claim(claims, "client_id"),
            scope=frozenset(scope.split()),
            expires_at=time_claim(claims, "exp"),
        )


_STARTS: Final = ("iat", "nbf")
_remotes: dict[str, RemoteKeySet] = {}
_remotes_lock = threading.Lock()


def _key_set(now: int | None = None) -> object:
    """The issuer's key set; as fresh as it is to be ``now``. Raises ``KeysUnavailable``."""
    key_set = conf.token_jwks or {}
    if not isinstance(key_set, str):
        return key_set
    remote = _remote(key_set)
    if now is not None:
        remote.keep_fresh(now)
    return remote.state.keys


def _remote(url: str) -> RemoteKeySet:
    with _remotes_lock:
        return _remotes.setdefault(url, RemoteKeySet(url))
