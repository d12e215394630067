"""An authentication class for Personal Agents: a Session, and the account it is signed in to."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AnonymousUser
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import APIException, AuthenticationFailed
from rest_framework.request import Request

from poppy_operations.company import get_company, verified_session
from poppy_operations.gate.answers import Refused
from poppy_operations.gate.callers import INVALID_SESSION, refusal_of
from poppy_operations.protocol.errors import STATUSES, error_body
from poppy_operations.sessions.refusals import SessionRefused
from poppy_operations.sessions.session import Session
from poppy_operations.sessions.verification import has_session


class CoreError(APIException):
    """An error of the core protocol, in its flat JSON form."""

    def __init__(self, refused: Refused) -> None:
        body: Any = error_body(refused.code, **refused.members)
        super().__init__(body)
        self.status_code = STATUSES[refused.code]
        if "Retry-After" in refused.headers:
            self.wait = int(refused.headers["Retry-After"])


class BadToken(AuthenticationFailed):
    """A Session whose access token is bad or has expired: 401 with a challenge."""


class PersonalAgentAuthentication(BaseAuthentication):
    """Authenticate a Personal Agent's request by its Session and access token.

    The user is the account's; a signed-out Session is anonymous. ``request.auth`` is the verified
    ``Session``. A request without ``Poppy-Session`` is left to the next class, unless it shows an
    agent's access token: an agent that leaves the header out is refused.
    """

    def authenticate(self, request: Request) -> tuple[Any, Session] | None:
        """Give the user and the Session, or ``None`` where the request shows neither."""
        plain = request._request  # noqa: SLF001  the only way to Django's own request
        if not has_session(plain):
            if get_company().is_agent(plain):
                raise CoreError(INVALID_SESSION)
            return None
        try:
            session = verified_session(plain)
        except SessionRefused as refused:
            raise _error(refusal_of(refused)) from refused
        if session.account is None:
            return AnonymousUser(), session
        user = get_company().user_of(session.account)
        if user is None:
            raise BadToken({"error": "invalid_token"})
        return user, session

    def authenticate_header(self, request: Request) -> str:
        """Give the challenge for an account, or say that the token is bad."""
        plain = request._request  # noqa: SLF001  as above
        challenge = get_company().challenge(plain)
        return f'{challenge}, error="invalid_token"' if has_bad_token(plain) else challenge


def has_bad_token(request: Any) -> bool:
    """Whether a Session stands and its access token does not."""
    if not has_session(request):
        return False
    try:
        session = verified_session(request)
    except SessionRefused as refused:
        return refusal_of(refused).code == "invalid_token"
    return session.account is not None and get_company().user_of(session.account) is None


def _error(refused: Refused) -> APIException:
    if refused.code == "invalid_token":
        return BadToken({"error": refused.code})
    return CoreError(refused)
