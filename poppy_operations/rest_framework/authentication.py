"""An authentication class for Personal Agents: a Session, and the account it is signed in to."""

from __future__ import annotations

from typing import Any

from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from poppy_operations.company import get_company
from poppy_operations.gate.answers import Refused
from poppy_operations.gate.authorization import user_of_session
from poppy_operations.gate.callers import verified, without_session
from poppy_operations.rest_framework.errors import core_error
from poppy_operations.sessions.session import Session
from poppy_operations.sessions.verification import has_session


class PersonalAgentAuthentication(BaseAuthentication):
    """Authenticate a Personal Agent's request by its Session and access token.

    Put it first among a view's authentication classes. The user is the account's; a signed-out
    Session is anonymous, and is challenged where the view's permissions want a user.
    ``request.auth`` is the verified ``Session``. A request without ``Poppy-Session`` is left to
    the next class, unless it shows an agent's access token: an agent that leaves the header out is
    refused.
    """

    _signed_out = False

    def __bool__(self) -> bool:
        """Whether it authenticated anybody.

        Django REST framework asks this before it answers 401, and not 403, to who may not pass.
        """
        return not self._signed_out

    def authenticate(self, request: Request) -> tuple[Any, Session] | None:
        """Give the user and the Session, or ``None`` where the request shows neither."""
        plain = request._request  # noqa: SLF001  the only way to Django's own request
        if not has_session(plain):
            refused = without_session(plain)
            if refused is not None:
                raise core_error(request, refused)
            return None
        session = verified(plain)
        if isinstance(session, Refused):
            raise core_error(request, session)
        user = user_of_session(session)
        if isinstance(user, Refused):
            raise core_error(request, user)
        self._signed_out = session.account is None
        return user, session

    def authenticate_header(self, request: Request) -> str:
        """Give the challenge for an account."""
        return get_company().challenge(request._request)  # noqa: SLF001  as above
