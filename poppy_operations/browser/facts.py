"""What the protocol knows of a request, as the site finds it at ``request.poppy``."""

from __future__ import annotations

from functools import cached_property

from django.http import HttpRequest

from poppy_operations.browser.state import Browser, browser_of
from poppy_operations.company import is_verified, verified_session
from poppy_operations.sessions.refusals import SessionRefused
from poppy_operations.sessions.session import Session
from poppy_operations.sessions.verification import has_session


class RequestFacts:
    """``request.poppy``: what the protocol knows of a request, each fact read at its first use."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request

    @cached_property
    def refusal(self) -> SessionRefused | None:
        """Why the request's Session is refused; ``None`` if it is not, or there is none."""
        return self._verified if isinstance(self._verified, SessionRefused) else None

    @cached_property
    def session(self) -> Session | None:
        """The verified Session of an agent's request; ``None`` if there is none, or it is refused.

        For the Session of an agent's browser see ``browser``.
        """
        return self._verified if isinstance(self._verified, Session) else None

    @cached_property
    def _verified(self) -> Session | SessionRefused | None:
        if not (has_session(self._request) or is_verified(self._request)):
            return None
        try:
            return verified_session(self._request)
        except SessionRefused as refusal:
            return refusal

    @property
    def browser(self) -> Browser:
        """Whether an agent's browser sent the request, and in which Session."""
        return browser_of(self._request)
