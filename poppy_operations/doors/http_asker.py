"""Who asks by HTTP: the Session header, the browser's join, the approval header."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from poppy_operations.browser.state import Browser, browser_of
from poppy_operations.company import get_company, verified_session
from poppy_operations.protocol.approval import ApprovalStatement, approval_from_header
from poppy_operations.sessions.credentials import tokens_beside
from poppy_operations.sessions.session import Session
from poppy_operations.sessions.verification import has_session


def nobody() -> Any:
    """The user of a view that authenticates nobody."""
    return None


@dataclass(frozen=True)
class HttpAsker:
    """What a Django request tells of who asks. ``find_user`` finds the user of the site's own."""

    request: HttpRequest
    find_user: Callable[[], Any] = nobody

    def shows_session(self) -> bool:
        """Whether there is a ``Poppy-Session``, good or bad."""
        return has_session(self.request)

    def session(self) -> Session:
        """The verified Session. Raises a ``SessionRefused``."""
        return verified_session(self.request)

    def browser(self) -> Browser:
        """Whether an agent's browser sent the request, and in which Session."""
        return browser_of(self.request)

    def is_agent(self) -> bool:
        """Whether an agent's credential came without a Session."""
        self.find_user()  # The site's own authentication says now which one it has accepted.
        return get_company().is_agent(self.request)

    def shows_another_token(self) -> bool:
        """Whether an access token other than the Session's is in the header, query or form."""
        verifier = get_company().session_verifier()
        bearer = verifier.bearer_token(self.request.META.get("HTTP_AUTHORIZATION"))
        return bool(tokens_beside(self.request, bearer))

    def user(self) -> Any:
        """The user whose request the site takes it for; ``None`` if it authenticates nobody."""
        return self.find_user()

    def carries_approval(self) -> bool:
        """Whether there is a ``Poppy-Approval``, in any form."""
        return "HTTP_POPPY_APPROVAL" in self.request.META

    def approval(self) -> ApprovalStatement | None:
        """The approval in the header. Raises ``MalformedApproval``."""
        header: str | None = self.request.META.get("HTTP_POPPY_APPROVAL")
        return None if header is None else approval_from_header(header)
