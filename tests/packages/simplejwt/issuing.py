"""Access tokens as simplejwt signs them."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth import get_user_model
from rest_framework_simplejwt.tokens import AccessToken


class Issuer:
    """Issues tokens to agents, in the place of the tests' authorization server."""

    def access_token(
        self, account: str, *, client_id: str | None, scope: str = "", lifetime: int = 3600
    ) -> str:
        """Issue a token for the account; without ``client_id`` it is the site's own app's."""
        token = AccessToken.for_user(get_user_model().objects.get(pk=account))
        token.set_exp(lifetime=timedelta(seconds=lifetime))
        if client_id is not None:
            token["client_id"] = client_id
            token["scope"] = scope
        return str(token)
