"""Access tokens of django-oauth-toolkit.

``"COMPANY": "poppy_operations.contrib.oauth_toolkit.ToolkitCompany"``, or a class derived from it.
An agent is an application whose ``client_id`` is the agent's URL.
"""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256
from typing import Any

from django.http import HttpRequest

from poppy_operations.company import get_company
from poppy_operations.conf import conf
from poppy_operations.contrib.clients import AmongOtherClients
from poppy_operations.sessions.clock import epoch
from poppy_operations.sessions.refusals import InvalidToken
from poppy_operations.sessions.tokens import AccessToken, TokenVerifier


class ToolkitTokens(TokenVerifier):
    """Verifies what the package's own validator verifies, and says whose the token is."""

    def verify(self, token: str, *, now: datetime | None = None) -> AccessToken:
        """Verify a token. See ``TokenVerifier``."""
        row = _valid_row(token)
        if row is None or epoch(row.expires) <= epoch(now):
            message = "The access token is not known, has expired, or is for another resource."
            raise InvalidToken(message, client_id=_client_id(_token_row(token)))
        client_id = _client_id(row)
        if client_id is None or row.user is None:
            message = "The access token belongs to no application, or to no user."
            raise InvalidToken(message, client_id=client_id)
        return AccessToken(
            account=get_company().account_of(row.user) or "",
            client_id=client_id,
            scope=frozenset(row.scope.split()),
            expires_at=epoch(row.expires),
        )


class ToolkitCompany(AmongOtherClients):
    """A Company whose access tokens, for agents and for other clients, are the package's."""

    token_verifier = ToolkitTokens

    def client_of(self, request: HttpRequest, credential: object) -> str | None:
        """The application that a token was issued to, even if the token is no longer valid."""
        from oauth2_provider.models import get_access_token_model

        row: Any = _token_row(credential) if isinstance(credential, str) else credential
        if row is not None and not isinstance(row, get_access_token_model()):
            return super().client_of(request, credential)
        client_id = _client_id(row)
        if client_id is None:
            message = "No application is known that the token was issued to."
            raise InvalidToken(message)
        return client_id


def _token_row(token: str) -> Any:
    from oauth2_provider.models import get_access_token_model

    checksum = sha256(token.encode("utf-8", "replace")).hexdigest()
    rows = get_access_token_model().objects.select_related("application", "user")
    return rows.filter(token_checksum=checksum).first()


def _valid_row(token: str) -> Any:
    """The token's row, if the package's validator accepts the token at this Company."""
    from oauth2_provider.settings import oauth2_settings
    from oauthlib.common import Request

    request = Request(conf.token_audience)
    validator = oauth2_settings.OAUTH2_VALIDATOR_CLASS()
    is_valid = validator.validate_bearer_token(token, [], request)
    return request.access_token if is_valid else None


def _client_id(row: Any) -> str | None:
    application = None if row is None else row.application
    return None if application is None else str(application.client_id)
