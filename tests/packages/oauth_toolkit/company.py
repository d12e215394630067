"""The Company of a site whose access tokens are django-oauth-toolkit's."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256

from django.http import HttpRequest
from oauth2_provider.models import get_access_token_model

from poppy_operations import Company
from poppy_operations.models import Agent
from poppy_operations.sessions.refusals import InvalidToken
from poppy_operations.sessions.tokens import AccessToken, TokenVerifier


class ToolkitTokens(TokenVerifier):
    """Tokens are rows; an application's ``client_id`` is the agent's."""

    def verify(self, token: str, *, now: datetime | None = None) -> AccessToken:
        """Find the token, and say whose it is."""
        rows = get_access_token_model().objects.select_related("application")
        row = rows.filter(token_checksum=sha256(token.encode()).hexdigest()).first()
        if row is None or not row.is_valid() or row.user_id is None:
            message = "The token is not valid."
            raise InvalidToken(message)
        return AccessToken(
            account=str(row.user_id),
            client_id=row.application.client_id,
            scope=frozenset(row.scope.split()),
            expires_at=int(row.expires.timestamp()),
        )


class ToolkitCompany(Company):
    """Agents are clients among others: those on the allow-list."""

    token_verifier = ToolkitTokens

    def is_agent(self, request: HttpRequest) -> bool:
        """Whether the token that came without a Session is an agent's."""
        token = self.session_verifier().bearer_token(request.META.get("HTTP_AUTHORIZATION"))
        if token is None:
            return False
        try:
            client_id = self.token_verifier().verify(token).client_id
        except InvalidToken:
            return False
        return Agent.objects.filter(client_id=client_id).exists()
