"""An authentication class for Personal Agents: a Session, and the account it is signed in to."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.request import Request, is_form_media_type

from poppy_operations.company import get_company
from poppy_operations.doors.http_asker import HttpAsker
from poppy_operations.gate.answers import ErrorAnswer
from poppy_operations.gate.authorization import agent_of
from poppy_operations.rest_framework.errors import core_error
from poppy_operations.sessions.session import Session


class PersonalAgentAuthentication(BaseAuthentication):
    """Authenticate a Personal Agent's request by its Session and access token.

    Put it first among a view's authentication classes. The user is the account's; a signed-out
    Session is anonymous, and is challenged if the view's permissions require a user.
    ``request.auth`` is the verified ``Session``. A request without ``Poppy-Session`` is left to
    the next class, unless it shows an agent's access token: an agent that leaves the header out is
    refused.
    """

    _signed_out = False

    def __bool__(self) -> bool:
        """Whether it authenticated anybody.

        If the request may not pass, Django REST framework asks this, to answer 401 and not 403.
        """
        return not self._signed_out

    def authenticate(self, request: Request) -> tuple[Any, Session] | None:
        """Give the user and the Session, or ``None`` if the request shows neither."""
        plain = request._request  # noqa: SLF001  the only way to Django's own request
        asker = HttpAsker(plain)
        if not asker.shows_session():
            _read_form(request)
        found = agent_of(asker)
        if isinstance(found, ErrorAnswer):
            raise core_error(request, found)
        if found is not None:
            self._signed_out = found[1].account is None
        return found

    def authenticate_header(self, request: Request) -> str:
        """Give the challenge for an account."""
        return get_company().challenge(request._request)  # noqa: SLF001  as above


def _read_form(request: Request) -> None:
    """Let the view's own parsers read a form, before a token is looked for in it.

    If they do not read the form, no token class of the view reads it either.
    """
    setattr(request._request, "auth", None)  # noqa: B010, SLF001  nothing is accepted yet
    if is_form_media_type(request.content_type):
        with suppress(UnsupportedMediaType):
            _ = request.POST
