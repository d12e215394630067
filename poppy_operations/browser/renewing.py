"""What the answer to a request does with the mark of the browser that sent it.

If a browser's Django session is marked, the browser gets a cookie that outlives this session by
``JOIN_LIFETIME`` at least, whatever ends the session. After a sign-out only the cookie is left, for
``JOIN_LIFETIME``.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from poppy_operations.browser import mark_cookies, marks
from poppy_operations.conf import conf


def is_due(request: HttpRequest, response: HttpResponseBase) -> bool:
    """Whether ``renew_mark`` has to be called. To find out, nothing is read."""
    if marks.fate_of(request) is not None or mark_cookies.may_be_lost_by(response):
        return True
    session = _session_at_hand(request)
    if session is None or not marks.is_read(session):
        return session is not None
    if marks.is_session_lost(session) or marks.is_cleared_unread(session):
        return True
    return marks.MARK in session and _is_short(request, _lifetime_of(session))


def renew_mark(request: HttpRequest, response: HttpResponseBase) -> None:
    """Put the mark back if it was lost, and set or delete the browser's cookie.

    If the answer is an error of the server, Django saves no session, and the cookie stays as it is.
    """
    fate = marks.fate_of(request)
    session = _session_at_hand(request)
    if session is not None and fate is None:
        _mark_again(request, session)
    is_in_session = session is not None and marks.MARK in session
    if is_in_session or marks.is_marked_without_session(request):
        mark_cookies.keep_in(response)
    if response.status_code >= 500:
        return
    if session is not None and is_in_session:
        lifetime = _lifetime_of(session)
        if _is_short(request, lifetime):
            # Longer than it has to be, so that not every answer brings the cookie.
            mark_cookies.set_in(response, lifetime + _join_lifetime())
    elif fate is marks.Fate.SIGNED_OUT:
        mark_cookies.set_in(response, _join_lifetime())
    elif fate is marks.Fate.HANDED_BACK and mark_cookies.is_in(request):
        mark_cookies.delete_in(response)


def _session_at_hand(request: HttpRequest) -> SessionBase | None:
    session = marks.django_session(request)
    if session is None or not (marks.is_read(session) or _is_about_to_be_read(request)):
        return None
    return session


def _is_about_to_be_read(request: HttpRequest) -> bool:
    """Whether Django reads and saves an agent's session anyway, which lengthens its life."""
    return settings.SESSION_SAVE_EVERY_REQUEST and mark_cookies.seconds_left(request) > 0


def _mark_again(request: HttpRequest, session: SessionBase) -> None:
    """Mark a session again if it lost its mark in this request, though nobody signed it out."""
    marks.put_back(session)
    if marks.is_cleared_unread(session) and is_beside_session(request):
        session[marks.MARK] = True


def _lifetime_of(session: SessionBase) -> int:
    """Say for how many seconds a marked Django session needs the cookie beside it."""
    return min(max(0, session.get_expiry_age()) + _join_lifetime(), mark_cookies.LONGEST_COOKIE)


def _is_short(request: HttpRequest, lifetime: int) -> bool:
    return mark_cookies.seconds_left(request, old_keys=False) < lifetime


def is_beside_session(request: HttpRequest) -> bool:
    """Whether the browser's cookie was set beside a marked session, which nobody has signed out.

    After a sign-out the cookie marks for ``JOIN_LIFETIME`` at most; until then, for longer.
    """
    return mark_cookies.seconds_left(request) > _join_lifetime()


def _join_lifetime() -> int:
    return int(conf.join_lifetime.total_seconds())
