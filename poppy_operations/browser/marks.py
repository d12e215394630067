"""The mark that an agent's browser leaves with the site.

It is in the Django session that the agent used, and in a cookie beside it; either one is enough.
The session keeps the mark through logins, new keys and whatever empties a session; only a sign-out
removes it. The cookie keeps it if the session is lost, and for ``JOIN_LIFETIME`` after a sign-out.
"""

from __future__ import annotations

from contextlib import suppress
from enum import Enum
from functools import cache
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.base import CreateError, SessionBase
from django.http import HttpRequest

from poppy_operations.browser import mark_cookies
from poppy_operations.protocol.canonical import digest

MARK = "_poppy_agent_browser"
JOIN = "_poppy_join"  # the join that this Django session was last bound to
LOGIN = "_poppy_login"  # the join that gave the login in this Django session; absent if none did

_BROUGHT = "_poppy_brought"
_FATE = "_poppy_fate"
_SEEN = "_poppy_seen"


def key_digest(session_key: str) -> str:
    """Give the digest by which a join remembers a Django session's key."""
    return digest(session_key)


def cookie_key(request: HttpRequest) -> str | None:
    """Give the key of the Django session that the request's cookie names.

    A site's own session middleware may use a cookie of another name.
    """
    brought: str | None = getattr(request, _BROUGHT, None)
    if brought or not request.COOKIES:
        return brought or None
    return request.COOKIES.get(settings.SESSION_COOKIE_NAME) or None


def django_session(request: HttpRequest) -> SessionBase | None:
    """Give the request's Django session, or ``None`` if the site has none."""
    session = getattr(request, "session", None)
    return session if isinstance(session, SessionBase) else None


def cookie_session(request: HttpRequest) -> SessionBase | None:
    """Give the Django session that the browser brought, or ``None`` without a cookie.

    Asking for the cookie first spares visitors without one the query and ``Vary: Cookie``.
    """
    session = django_session(request)
    if session is None or (cookie_key(request) is None and session.session_key is None):
        return None
    return session


def is_marked(request: HttpRequest) -> bool:
    """Whether an agent's browser sent the request. Reads the Django session if it must."""
    return is_marked_without_session(request) or session_is_marked(request)


async def ais_marked(request: HttpRequest) -> bool:
    """As ``is_marked``, for the event loop."""
    if is_marked_without_session(request):
        return True
    session = cookie_session(request)
    return session is not None and bool(await session.ahas_key(MARK))


def is_marked_without_session(request: HttpRequest) -> bool:
    """Whether an agent's browser sent the request, as far as its cookie says."""
    fate = fate_of(request)
    if fate is None:
        return mark_cookies.seconds_left(request) > 0
    return fate is Fate.SIGNED_OUT


def session_is_marked(request: HttpRequest) -> bool:
    """Whether an agent's browser uses the request's Django session. Reads it if it must."""
    session = cookie_session(request)
    return session is not None and MARK in session


class Fate(Enum):
    """What a request did to the mark that its browser came with."""

    SIGNED_OUT = "signed out"
    HANDED_BACK = "handed back"


def fate_of(request: HttpRequest) -> Fate | None:
    """Say what this request did to the browser's mark; ``None`` if it changed nothing."""
    fate: Fate | None = getattr(request, _FATE, None)
    return fate


def note_fate(request: HttpRequest, fate: Fate | None) -> None:
    """Remember for the rest of the request what it did to the browser's mark."""
    setattr(django_request(request), _FATE, fate)


def django_request(request: HttpRequest) -> HttpRequest:
    """Give Django's own request, even if a view got Django REST framework's around it.

    Nobody else finds what is noted on the request around it.
    """
    own: HttpRequest = getattr(request, "_request", request)
    return own


def join_key(session: SessionBase) -> int:
    """Give the primary key of the join that a marked session was last bound to; 0 if to none."""
    return int(session.get(JOIN) or 0)


def remove_login(session: SessionBase) -> None:
    """End the login in a Django session and keep all else. The caller changes its key."""
    for key in (SESSION_KEY, BACKEND_SESSION_KEY, HASH_SESSION_KEY):
        session.pop(key, None)
    disown_login(session)


def disown_login(session: SessionBase) -> None:
    """Note that no join gave the login, if there is one, in a Django session."""
    session.pop(LOGIN, None)
    seen: dict[str, object] = getattr(session, _SEEN, {})
    seen.pop(LOGIN, None)


def empty(session: SessionBase) -> None:
    """Empty a Django session of all but its mark. The caller changes its key."""
    kept = _marks(session)
    session.clear()
    session.update(kept)


def remove(session: SessionBase) -> None:
    """Forget that an agent's browser used the Django session."""
    for key in (MARK, JOIN):
        session.pop(key, None)
    setattr(session, _SEEN, {})


def is_read(session: SessionBase) -> bool:
    """Whether the data of a Django session is in memory."""
    return "_session_cache" in vars(session)


def is_session_lost(session: SessionBase) -> bool:
    """Whether a Django session was read with the mark, and has lost it since."""
    return bool(_lost(session))


def is_cleared_unread(session: SessionBase) -> bool:
    """Whether a Django session was emptied before anybody read what it held."""
    return isinstance(session, KeepsMark) and is_read(session) and not hasattr(session, _SEEN)


def put_back(session: SessionBase) -> None:
    """Mark a Django session again if somebody emptied it, or deleted its keys.

    If the login that a join gave is still there, this join is noted again as well: the login has
    to end with it.
    """
    if lost := _lost(session):
        session.update(lost)


def _lost(session: SessionBase) -> dict[str, object]:
    seen: dict[str, object] = getattr(session, _SEEN, {})
    kept = {key: seen[key] for key in (MARK, JOIN) if key in seen}
    if LOGIN in seen and session.get(SESSION_KEY) == seen[SESSION_KEY]:
        kept[LOGIN] = seen[LOGIN]
    return {key: value for key, value in kept.items() if key not in session}


class KeepsMark(SessionBase):
    """A Django session that keeps its mark when it is flushed or gets another key.

    The old key is marked as well, without a login: other requests of the browser may still carry
    it, and so does the browser itself if it never receives the answer with the new key.
    """

    def load(self) -> dict[str, Any]:
        """Read the session, and remember with which mark it came."""
        return _noted(self, super().load())

    async def aload(self) -> dict[str, Any]:
        """As ``load``, for the event loop."""
        return _noted(self, await super().aload())

    def flush(self) -> None:
        """Empty the session of all but the mark, under a new key."""
        key, marks = self.session_key, _marks(self)
        super().flush()
        if marks:
            self.update(marks)
            _leave_behind(type(self), key, marks)

    async def aflush(self) -> None:
        """As ``flush``, for the event loop."""
        await self.ahas_key(MARK)  # loads the session without blocking the event loop
        key, marks = self.session_key, _marks(self)
        await super().aflush()
        if marks:
            await self.aupdate(marks)
            await _aleave_behind(type(self), key, marks)

    def cycle_key(self) -> None:
        """Give the session a new key."""
        key = self.session_key
        super().cycle_key()
        if marks := _marks(self):
            _leave_behind(type(self), key, marks)

    async def acycle_key(self) -> None:
        """As ``cycle_key``, for the event loop."""
        key = self.session_key
        await super().acycle_key()
        if marks := _marks(self):
            await _aleave_behind(type(self), key, marks)


def keep_mark(request: HttpRequest) -> None:
    """Let the session that the browser brought keep its mark, if it has one, until a sign-out."""
    session = cookie_session(request)
    if session is None:
        return
    setattr(request, _BROUGHT, session.session_key)
    if not isinstance(session, KeepsMark):
        session.__class__ = _keeping(type(session))
        if is_read(session):
            _noted(session, dict(session.items()))


@cache
def _keeping(store: type[SessionBase]) -> type[SessionBase]:
    return type(store.__name__, (KeepsMark, store), {"__module__": store.__module__})


def _noted(session: SessionBase, data: dict[str, Any]) -> dict[str, Any]:
    seen = {key: data[key] for key in (MARK, JOIN, LOGIN, SESSION_KEY) if key in data}
    setattr(session, _SEEN, seen if MARK in seen else {})
    return data


def _marks(session: SessionBase) -> dict[str, object]:
    if MARK not in session:
        return {}
    return {key: session[key] for key in (MARK, JOIN) if key in session}


def _leave_behind(store: type[SessionBase], key: str | None, marks: dict[str, object]) -> None:
    if key is None:
        return
    marked = _left_behind(store, key, marks)
    with suppress(CreateError):  # another request of the browser was here first
        marked.save(must_create=True)


async def _aleave_behind(
    store: type[SessionBase], key: str | None, marks: dict[str, object]
) -> None:
    if key is None:
        return
    marked = _left_behind(store, key, marks)
    with suppress(CreateError):  # as above
        await marked.asave(must_create=True)


def _left_behind(store: type[SessionBase], key: str, marks: dict[str, object]) -> SessionBase:
    marked = store(key)
    marked.clear()  # not read, so that it keeps its key although no row has it now
    marked.update(marks)
    return marked
