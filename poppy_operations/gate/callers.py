"""Who asks, by the first rule that applies (design: "The gate")."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from poppy_operations.company import account_of, get_company
from poppy_operations.declarations.outcomes import Refusal
from poppy_operations.gate.answers import INVALID_REQUEST, INVALID_SESSION, ErrorAnswer
from poppy_operations.gate.calls import Call
from poppy_operations.gate.door import Asker
from poppy_operations.protocol import interfaces
from poppy_operations.protocol.interfaces import Interface
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

logger = logging.getLogger("poppy_operations")


@dataclass(frozen=True)
class Caller:
    """An agent that asks, through one interface.

    ``owner`` is ``None`` if the site does not handle the request as a Session's. ``refusal`` is
    what the site chose for an agent that may not get an operation.
    """

    interface: Interface
    owner: Owner | None
    sid: str = ""
    refusal: Refusal | None = None


class Visitor:
    """An ordinary visitor: the view is answered as if this app were not there."""


def who_asks(call: Call) -> Caller | Visitor | ErrorAnswer:
    """Say who asks, or refuse. Reads the Session, the browser's join and the agent's status."""
    asker = call.asker
    if asker.shows_session():
        return _with_session(call)
    browser = asker.browser()
    if browser.marked:
        return _unread(call) or _browser(call, browser.session)
    if asker.carries_approval():
        return error_answer(InvalidSession("An approval came without a Session."))
    return without_session(asker) or Visitor()


def without_session(asker: Asker) -> ErrorAnswer | None:
    """Refuse an agent that leaves its Session out; ``None`` for everybody else."""
    if not asker.is_agent():
        return None
    return error_answer(InvalidSession("The access token of an agent came without a Session."))


def _with_session(call: Call) -> Caller | ErrorAnswer:
    session = verified(call.asker)
    if isinstance(session, ErrorAnswer):
        return session
    wrong = _unread(call) or somebody_else(call.asker.user(), session) or _another_token(call.asker)
    if wrong is not None:
        return wrong
    refusal = None if session.declared else _undeclared(call)
    return Caller(call.interface, session.owner, session.sid, refusal)


def _unread(call: Call) -> ErrorAnswer | None:
    """Refuse an agent's request with content that nobody can read: it would pass for an empty one.

    What is asked for and what is done would be something else than what was sent.
    """
    if not call.is_lost():
        return None
    logger.info(
        "A request for %s is refused: its body broke off, was read by something else, or came "
        "without a Content-Length that is a number.",
        call.action.name,
    )
    return INVALID_REQUEST


def _another_token(asker: Asker) -> ErrorAnswer | None:
    """Refuse a request if it has another access token beside the one of its Session.

    If the site read that other token, nobody could say whose action it is.
    """
    if not asker.shows_another_token():
        return None
    return error_answer(InvalidSession("An access token came that is not the Session's."))


def somebody_else(user: Any, session: Session) -> ErrorAnswer | None:
    """Refuse a request if the site takes it for another account than its Session's.

    If the site authenticates nobody, the request is not refused: its view may not need to.
    """
    account = None if user is None else account_of(user)
    if account is None or account == session.account:
        return None
    message = "The site takes the request for another account than the Session's."
    return error_answer(InvalidSession(message))


def _browser(call: Call, session: Session | None) -> Caller:
    website = interfaces.WEBSITE
    if session is None or not (call.action.website and call.action.has_website_door):
        return Caller(website, None, refusal=_undeclared(call))
    refusal = None if session.declared else _undeclared(call)
    return Caller(website, session.owner, session.sid, refusal)


def _undeclared(call: Call) -> Refusal:
    chosen: object = get_company().undeclared(call.asker.request, call.action)
    if not isinstance(chosen, Refusal):
        message = f"Company.undeclared returns a Refusal, not {type(chosen).__name__}."
        raise TypeError(message)
    if chosen.response is None or call.results.is_answer(chosen.response):
        return chosen
    kind = type(chosen.response).__name__
    message = f"Company.undeclared refuses with {kind}, which is no answer at this door."
    raise TypeError(message)


def verified(asker: Asker) -> Session | ErrorAnswer:
    """The verified Session of an agent's request, or the core protocol's error for it."""
    try:
        return asker.session()
    except SessionRefused as refused:
        return error_answer(refused)


def error_answer(refused: SessionRefused) -> ErrorAnswer:
    """The error of the core protocol for a Session that is refused; the log has the reason."""
    answer = _error_of(refused)
    logger.info("Refused with %s. %s", answer.code, refused, extra={"error": answer.code})
    return answer


def _error_of(refused: SessionRefused) -> ErrorAnswer:
    if isinstance(refused, InvalidToken):
        header = 'Bearer error="invalid_token"'
        return ErrorAnswer("invalid_token", headers={"WWW-Authenticate": header})
    if isinstance(refused, InvalidVersion):
        return INVALID_REQUEST
    if isinstance(refused, InsufficientScope):
        header = f'Bearer error="insufficient_scope", scope="{refused.scope}"'
        members = {"scope": refused.scope}
        return ErrorAnswer("insufficient_scope", members, {"WWW-Authenticate": header})
    if isinstance(refused, KeysUnavailable):
        headers = {"Retry-After": str(refused.retry_after)}
        return ErrorAnswer("temporarily_unavailable", headers=headers)
    return INVALID_SESSION
