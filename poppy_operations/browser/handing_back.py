"""An agent's browser becomes a person's again because the site says so."""

from __future__ import annotations

from django.http import HttpRequest

from poppy_operations.browser import marks
from poppy_operations.browser.given_logins import is_joining
from poppy_operations.browser.joins import end_join
from poppy_operations.browser.state import Over, forget_join
from poppy_operations.models import instants


def hand_back(request: HttpRequest) -> bool:
    """Take the mark of an agent's browser away, once the site has re-authenticated the person.

    Call it after ``login()``, if the person has shown something that no agent has, such as a
    passkey: what the agent's browser can do by itself does not prove that a person is there. The
    login stays and the Django session gets another key; a join of the browser ends.

    Return ``False``, and change nothing, if nobody is signed in or if a join gave the login.
    """
    session = marks.django_session(request)
    if session is None or is_joining(request) or not _has_own_login(request):
        return False
    if marks.MARK in session:
        forget_join(request)
        end_join(marks.join_key(session), Over.HANDED_BACK, instants.now())
        session.cycle_key()  # while it is marked, so that the old key stays the agent's
        marks.remove(session)
    marks.note_fate(request, marks.Fate.HANDED_BACK)
    return True


def _has_own_login(request: HttpRequest) -> bool:
    user = getattr(request, "user", None)
    return user is not None and user.is_authenticated and marks.LOGIN not in request.session
