"""Whose user acts in a Session, and what its access token covers (core profile, tokens)."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser

from poppy_operations.company import user_of_account
from poppy_operations.gate.answers import ErrorAnswer
from poppy_operations.gate.approvals import challenge
from poppy_operations.gate.callers import error_answer, somebody_else, verified, without_session
from poppy_operations.gate.door import Asker
from poppy_operations.sessions.refusals import InsufficientScope, InvalidToken
from poppy_operations.sessions.session import Session

SessionUser = tuple[AbstractBaseUser | AnonymousUser, Session]


def agent_of(asker: Asker) -> SessionUser | ErrorAnswer | None:
    """Authenticate an agent's request: its user and its Session, or why it is refused.

    The user is an anonymous one if the Session is signed out. ``None`` if the request is no
    agent's, or the site has another answer for agents without a Session.
    """
    if not asker.shows_session():
        return without_session(asker)
    session = verified(asker)
    if isinstance(session, ErrorAnswer):
        return session
    user = user_of_session(session)
    return user if isinstance(user, ErrorAnswer) else (user, session)


def user_of_session(session: Session) -> AbstractBaseUser | AnonymousUser | ErrorAnswer:
    """The user of a Session's account, an anonymous one if it is signed out.

    ``ErrorAnswer`` if the account is no active user's: the token then counts as invalid.
    """
    if session.account is None:
        return AnonymousUser()
    user = user_of_account(session.account)
    return error_answer(InvalidToken("The account is no active user's.")) if user is None else user


def scope_error(asker: Asker, user: Any, scope: str) -> ErrorAnswer | None:
    """Why an agent's request lacks a scope; ``None`` if it has the scope, or is no agent's.

    ``user`` is the user whom the site takes the request for. A signed-out Session is challenged.
    """
    if not asker.shows_session():
        return without_session(asker)
    session = verified(asker)
    if isinstance(session, ErrorAnswer):
        return session
    other = somebody_else(user, session)
    if other is not None:
        return other
    if session.account is None:
        return challenge(asker)
    return None if scope in session.scope else error_answer(InsufficientScope(scope))
