"""Who asks: the first rule that applies says it (design: "The gate")."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from poppy_operations.browser.marks import is_marked
from poppy_operations.browser.state import browser_of
from poppy_operations.company import get_company, verified_session
from poppy_operations.declarations.outcomes import Refusal
from poppy_operations.gate.answers import INVALID_REQUEST, INVALID_SESSION, Refused
from poppy_operations.gate.calls import Call
from poppy_operations.models import Operation
from poppy_operations.protocol.owner import Owner
from poppy_operations.sessions.refusals import (
    InsufficientScope,
    InvalidSession,
    InvalidToken,
    InvalidVersion,
    KeysUnavailable,
    SessionRefused,
)
from poppy_operations.sessions.session import Session
from poppy_operations.sessions.verification import has_session

logger = logging.getLogger("poppy_operations")


@dataclass(frozen=True)
class Caller:
    """An agent that asks, through one interface.

    ``owner`` is ``None`` where the site does not handle the request as anybody's Session.
    ``refusal`` is what the site chose for an agent that may not get an operation.
    """

    interface: str
    owner: Owner | None
    sid: str = ""
    refusal: Refusal | None = None

    @property
    def on_website(self) -> bool:
        """Whether approvals are recorded for the request instead of sent with it."""
        return self.interface == Operation.Interface.WEBSITE


class Visitor:
    """An ordinary visitor: the view is answered as if this app were not there."""


def who_asks(call: Call) -> Caller | Visitor | Refused:
    """Say who asks, or refuse. Reads the Session, the browser's join and the agent's status."""
    request = call.request
    if has_session(request):
        return _with_session(call)
    browser = browser_of(request)
    if browser.marked:
        return _browser(call, browser.session)
    if call.approval_header is not None:
        return refusal_of(InvalidSession("Poppy-Approval came without a Session."))
    return without_session(request) or Visitor()


def without_session(request: HttpRequest) -> Refused | None:
    """Refuse an agent that leaves its Session out; ``None`` for everybody else."""
    if not get_company().is_agent(request):
        return None
    return refusal_of(InvalidSession("The access token of an agent came without a Session."))


def _with_session(call: Call) -> Caller | Refused:
    session = verified(call.request)
    if isinstance(session, Refused):
        return session
    other = somebody_else(call.user(), session)
    if other is not None:
        return other
    refusal = None
    if not session.declared:
        refusal = get_company().undeclared(call.request, call.action)
    return Caller(call.interface, session.owner, session.sid, refusal)


def somebody_else(user: Any, session: Session) -> Refused | None:
    """Refuse a request that the site takes for another account than its Session's.

    Nobody is nobody else: a view may authenticate no one.
    """
    account = None if user is None else get_company().account_of(user)
    if account is None or account == session.account:
        return None
    message = "The site takes the request for another account than the Session's."
    return refusal_of(InvalidSession(message))


def _browser(call: Call, session: Session | None) -> Caller:
    website = Operation.Interface.WEBSITE
    if session is not None and call.action.website and call.action.has_website_door:
        refusal = None
        if not session.declared:
            refusal = get_company().undeclared(call.request, call.action)
        return Caller(website, session.owner, session.sid, refusal)
    return Caller(website, None, refusal=get_company().undeclared(call.request, call.action))


def is_the_websites(request: HttpRequest) -> bool:
    """Whether a request is answered in the website's form: a page, a redirect, a reference."""
    return not has_session(request) and is_marked(request)


def verified(request: HttpRequest) -> Session | Refused:
    """The verified Session of an agent's request, or the core protocol's error for it."""
    try:
        return verified_session(request)
    except SessionRefused as refused:
        return refusal_of(refused)


def refusal_of(refused: SessionRefused) -> Refused:
    """The error of the core protocol that a refusal is answered with; the log has its reason."""
    answer = _error_of(refused)
    logger.info("Refused with %s. %s", answer.code, refused, extra={"error": answer.code})
    return answer


def _error_of(refused: SessionRefused) -> Refused:
    if isinstance(refused, InvalidToken):
        header = 'Bearer error="invalid_token"'
        return Refused("invalid_token", headers={"WWW-Authenticate": header})
    if isinstance(refused, InvalidVersion):
        return INVALID_REQUEST
    if isinstance(refused, InsufficientScope):
        header = f'Bearer error="insufficient_scope", scope="{refused.scope}"'
        return Refused("insufficient_scope", {"scope": refused.scope}, {"WWW-Authenticate": header})
    if isinstance(refused, KeysUnavailable):
        return Refused("temporarily_unavailable", headers={"Retry-After": str(refused.retry_after)})
    return INVALID_SESSION
