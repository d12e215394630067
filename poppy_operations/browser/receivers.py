"""Receivers of Django's signals about logins, for the sake of agents' browsers."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.contrib.sessions.backends.base import SessionBase
from django.dispatch import receiver
from django.http import HttpRequest

from poppy_operations.browser import marks, renewing
from poppy_operations.browser.given_logins import is_joining
from poppy_operations.browser.joins import end_join
from poppy_operations.browser.state import Over, forget_join
from poppy_operations.models import instants


@receiver(user_logged_in, dispatch_uid="poppy_operations.own_login")
def count_as_own_login(request: HttpRequest | None, **_named: Any) -> None:
    """Count a login made after the join as the browser's own, whoever signs in (AMB-31).

    If the same user signs in again, Django neither empties the session nor changes its key.
    """
    session = None if request is None else marks.django_session(request)
    if request is None or session is None or is_joining(request):
        return
    forget_join(request)
    marks.disown_login(session)
    if _carries_mark_over(request, session):
        session[marks.MARK] = True
        marks.note_fate(request, None)


def _carries_mark_over(request: HttpRequest, session: SessionBase) -> bool:
    """Whether the mark of the earlier session has to be put into the session of the login.

    It has if no person came back in between: if the session was lost and not signed out, or if one
    request made both the sign-out and the login, which only software does.
    """
    if marks.MARK in session:
        return False
    fate = marks.fate_of(request)
    return fate is marks.Fate.SIGNED_OUT or (fate is None and renewing.is_beside_session(request))


@receiver(user_logged_out, dispatch_uid="poppy_operations.sign_out")
def end_join_at_sign_out(request: HttpRequest | None, **_named: Any) -> None:
    """End the join at a sign-out, and leave the mark to the cookie alone, for a while."""
    session = None if request is None else marks.django_session(request)
    if request is None or session is None:
        return
    if marks.MARK not in session:
        if renewing.is_beside_session(request):
            marks.note_fate(request, marks.Fate.SIGNED_OUT)
        return
    marks.note_fate(request, marks.Fate.SIGNED_OUT)
    forget_join(request)
    end_join(marks.join_key(session), Over.SIGNED_OUT, instants.now())
    # Django empties the session next. Other senders of the signal may not, and a login must not
    # stay behind in a session that has lost its mark.
    marks.remove_login(session)
    marks.remove(session)
