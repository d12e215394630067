"""The login that a join gave ends with the join, on every view that reads the user.

A join is read only if it gave the login of a Django session and the session's user is read: other
visitors cost no query. If the join is over, the login ends at once for the request. The session
gets its new key after the view's transactions: if the view failed, they would take the key back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from poppy_operations.browser import marks
from poppy_operations.browser.joins import end_join, follow_key
from poppy_operations.browser.state import Over, ended_login, note_ended_login, read_join
from poppy_operations.models import instants

# The attributes in which Django's authentication middleware keeps the users that it has read.
_DJANGO_CACHES = ("_cached_user", "_acached_user")


def watch_user(request: HttpRequest) -> None:
    """Let ``request.user`` and ``request.auser`` see the end of the join that gave the login."""
    if marks.cookie_session(request) is None or not hasattr(request, "user"):
        return
    # Django itself puts a lazy object there; its stubs promise the user.
    watched: Any = SimpleLazyObject(partial(_user, request, request.user))
    request.user = watched
    if hasattr(request, "auser"):
        request.auser = partial(_auser, request, request.auser)


def _user(request: HttpRequest, user: Any) -> Any:
    if not user.is_authenticated or not request.session.accessed:
        return user  # whoever it is, the Django session did not say so
    if marks.LOGIN not in request.session:
        return user
    return AnonymousUser() if _end_login_if_over(request) else user


async def _auser(request: HttpRequest, read: Callable[[], Awaitable[Any]]) -> Any:
    user = await read()
    if not user.is_authenticated or not request.session.accessed:
        return user
    if not await request.session.ahas_key(marks.LOGIN):
        return user
    over = await sync_to_async(_end_login_if_over)(request)
    return AnonymousUser() if over else user


def _end_login_if_over(request: HttpRequest) -> bool:
    session = request.session
    read = read_join(request)
    if read.join is not None and read.join.pk == session.get(marks.LOGIN):
        return False
    marks.remove_login(session)
    for name in _DJANGO_CACHES:
        request.__dict__.pop(name, None)
    note_ended_login(request, read.over or Over.ELSEWHERE)
    return True


def has_changed(request: HttpRequest) -> bool:
    """Whether ``settle_session`` is due: without it a join loses the session it is bound to."""
    session = marks.cookie_session(request)
    if session is None or not session.accessed:
        return False
    if ended_login(request) is not None:
        return True
    brought = marks.cookie_key(request)
    return brought is not None and session.session_key not in (None, brought)


def settle_session(request: HttpRequest, status: int) -> None:
    """Change the key of a session whose login was ended, and let joins follow changed keys.

    ``status`` is the answer's: if it is an error of the server, Django does not save the session,
    and the browser keeps the key that it has.
    """
    session = request.session
    old_key = marks.cookie_key(request)
    if status >= 500 or old_key is None or marks.MARK not in session:
        return
    pk = marks.join_key(session)
    over = ended_login(request)
    if over is not None:
        if over in (Over.EXPIRED, Over.REVOKED):
            end_join(pk, over, instants.now())
        session.cycle_key()
    else:
        follow_key(pk, old_key, session.session_key or "")
