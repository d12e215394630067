"""Access tokens as django-oauth-toolkit keeps them."""

from __future__ import annotations

import secrets
from datetime import timedelta

from django.utils import timezone
from oauth2_provider.models import AccessToken, Application


class Issuer:
    """Issues tokens to any client, in the place of the tests' authorization server."""

    def access_token(
        self, account: str, *, client_id: str, scope: str = "", lifetime: int = 3600
    ) -> str:
        """Issue a token for the account; ``lifetime`` is in seconds."""
        application, _ = Application.objects.get_or_create(
            client_id=client_id,
            client_type=Application.CLIENT_CONFIDENTIAL,
            authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE,
            redirect_uris="https://agent.example/back",
        )
        token = secrets.token_urlsafe()
        AccessToken.objects.create(
            application=application,
            user_id=int(account),
            token=token,
            scope=f"orders:write {scope}",
            expires=timezone.now() + timedelta(seconds=lifetime),
        )
        return token
