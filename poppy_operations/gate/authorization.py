"""Whose user acts in a Session, and what its access token covers (core profile, tokens)."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest

from poppy_operations.company import get_company
from poppy_operations.gate.answers import Refused
from poppy_operations.gate.approvals import challenge
from poppy_operations.gate.callers import refusal_of, somebody_else, verified, without_session
from poppy_operations.sessions.refusals import InsufficientScope, InvalidToken
from poppy_operations.sessions.session import Session
from poppy_operations.sessions.verification import has_session


def user_of_session(session: Session) -> AbstractBaseUser | AnonymousUser | Refused:
    """The user of a Session's account, an anonymous one where it is signed out.

    ``Refused`` where the account is no active user: the token is as good as none.
    """
    if session.account is None:
        return AnonymousUser()
    user = get_company().user_of(session.account)
    return refusal_of(InvalidToken("The account is no active user.")) if user is None else user


def scope_refusal(request: HttpRequest, user: Any, scope: str) -> Refused | None:
    """Why an agent's request does not have a scope. ``None``: it has, or it is not an agent's.

    ``user`` is whom the site takes the request for. A signed-out Session is challenged.
    """
    if not has_session(request):
        return without_session(request)
    session = verified(request)
    if isinstance(session, Refused):
        return session
    other = somebody_else(user, session)
    if other is not None:
        return other
    if session.account is None:
        return challenge(request)
    return None if scope in session.scope else refusal_of(InsufficientScope(scope))
