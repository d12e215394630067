"""The Company of a site whose access tokens are simplejwt's."""

from __future__ import annotations

from datetime import datetime

from rest_framework_simplejwt.exceptions import TokenError
from rest_framework_simplejwt.tokens import AccessToken as SignedToken

from poppy_operations import Company
from poppy_operations.sessions.refusals import InvalidToken
from poppy_operations.sessions.tokens import AccessToken, TokenVerifier


class SimpleJwtTokens(TokenVerifier):
    """An agent's token names the agent in ``client_id``; those of the site's own app do not."""

    def verify(self, token: str, *, now: datetime | None = None) -> AccessToken:
        """Verify the signature, and say whose the token is."""
        try:
            claims = SignedToken(token)
        except TokenError as error:
            message = f"The token is not valid: {error}"
            raise InvalidToken(message) from None
        if "client_id" not in claims:
            message = "The token is not an agent's."
            raise InvalidToken(message)
        return AccessToken(
            account=str(claims["user_id"]),
            client_id=str(claims["client_id"]),
            scope=frozenset(str(claims.get("scope", "")).split()),
            expires_at=int(claims["exp"]),
        )


class SimpleJwtCompany(Company):
    """Its verifier accepts no other client's tokens: what it accepts is an agent's."""

    token_verifier = SimpleJwtTokens
