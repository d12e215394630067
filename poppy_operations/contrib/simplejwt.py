"""Access tokens of djangorestframework-simplejwt.

``"COMPANY": "poppy_operations.contrib.simplejwt.SimpleJwtCompany"``, or a class derived from it.
The package's tokens name no client: the site gives an agent's tokens a claim with the agent's URL.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest

from poppy_operations.contrib.clients import AmongOtherClients
from poppy_operations.sessions.clock import epoch
from poppy_operations.sessions.jwts import BadJwt, unverified_claims
from poppy_operations.sessions.refusals import InvalidToken
from poppy_operations.sessions.tokens import AccessToken, TokenVerifier


class SimpleJwtTokens(TokenVerifier):
    """Verifies the package's tokens that name an agent; the site may name the claims."""

    client_claim = "client_id"
    scope_claim = "scope"

    def verify(self, token: str, *, now: datetime | None = None) -> AccessToken:
        """Verify a token. See ``TokenVerifier``."""
        from rest_framework_simplejwt.settings import api_settings

        signed, has_expired = _signed(token)
        client_id = self.client_of(signed)
        account = signed.get(api_settings.USER_ID_CLAIM)
        if client_id is None or account is None:
            message = "The access token names no agent, or no user."
            raise InvalidToken(message, client_id=client_id)
        expires_at = int(signed["exp"])
        if has_expired or expires_at <= epoch(now) or _is_revoked(signed):
            message = "The access token has expired, or is revoked."
            raise InvalidToken(message, client_id=client_id)
        scope = signed.get(self.scope_claim) or ""
        scopes = scope.split() if isinstance(scope, str) else map(str, scope)
        return AccessToken(str(account), client_id, frozenset(scopes), expires_at)

    def looks_like_token(self, text: str) -> bool:
        """Whether a JWT in another place names a client."""
        try:
            return unverified_claims(text).get(self.client_claim) is not None
        except BadJwt:
            return False

    def client_of(self, signed: Any) -> str | None:
        """The client that a signed token names; ``None`` if it names none."""
        client_id = signed.get(self.client_claim)
        return None if client_id is None else str(client_id)


class SimpleJwtCompany(AmongOtherClients):
    """A Company whose access tokens are the package's.

    If a token names no client, it belongs to the Company's own app.
    """

    token_verifier: type[SimpleJwtTokens] = SimpleJwtTokens

    def client_of(self, request: HttpRequest, credential: object) -> str | None:
        """The client that a token names, even if the token is no longer valid."""
        from rest_framework_simplejwt.tokens import Token

        if isinstance(credential, str):
            credential, _ = _signed(credential)
        if isinstance(credential, Token):
            return self.token_verifier().client_of(credential)
        return super().client_of(request, credential)


def _signed(token: str) -> tuple[Any, bool]:
    """The token of the first of the site's classes that signed it, and whether it has expired."""
    from rest_framework_simplejwt.exceptions import ExpiredTokenError, TokenError
    from rest_framework_simplejwt.settings import api_settings

    for kind in api_settings.AUTH_TOKEN_CLASSES:
        try:
            return kind(token), False
        except ExpiredTokenError:
            # Times are looked at after the signature.
            return kind(token, verify=False), True
        except TokenError:
            continue
    message = "The access token is not one of the site's own."
    raise InvalidToken(message)


def _is_revoked(signed: Any) -> bool:
    """Whether the site ends tokens if their user's password changes, and this one has ended."""
    from rest_framework_simplejwt.authentication import JWTAuthentication
    from rest_framework_simplejwt.exceptions import AuthenticationFailed
    from rest_framework_simplejwt.settings import api_settings

    if not api_settings.CHECK_REVOKE_TOKEN:
        return False
    try:
        JWTAuthentication().get_user(signed)
    except AuthenticationFailed:
        return True
    return False
