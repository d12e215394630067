"""What a browser is to us: an ordinary visitor's, an agent's, or an agent's in a Session."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.contrib.auth import SESSION_KEY, get_user
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest

from poppy_operations.browser import marks
from poppy_operations.company import account_of
from poppy_operations.models import Agent, Join, instants
from poppy_operations.models.databases import write_alias
from poppy_operations.sessions.session import Session

_READ = "_poppy_read_join"
_ENDED = "_poppy_ended_login"


@dataclass(frozen=True)
class Browser:
    """The browser that sent a request.

    ``marked``: an agent uses it, or did so a short while ago. ``join`` is set while the join is
    live; ``session`` only if the site handles the browser's requests as that Session (4): signed in
    by the join and by nothing later, or joined without an account and signed out.
    """

    marked: bool
    join: Join | None = None
    session: Session | None = None


class Over(StrEnum):
    """Why a join is not live any more."""

    EXPIRED = "expired"
    REVOKED = "agent revoked"
    SIGNED_OUT = "signed out"
    HANDED_BACK = "handed back"
    NEW_JOIN = "new join"
    USED_TWICE = "ticket used twice"
    ENDED = "ended before"
    ELSEWHERE = "bound to another session key"


@dataclass(frozen=True)
class ReadJoin:
    """The join of a Django session as it was read; if it is not live, ``over`` says why."""

    join: Join | None
    over: Over | None = None


def browser_of(request: HttpRequest) -> Browser:
    """Say what the request's browser is.

    Without a cookie of the session or of the mark, nothing is read. If the session is marked, the
    join is read, by one query for the whole request, and so is the user of the request.
    """
    if not marks.session_is_marked(request):
        return Browser(marked=marks.is_marked_without_session(request))
    join = read_join(request).join
    return Browser(marked=True, join=join, session=_session(request, join))


def _session(request: HttpRequest, join: Join | None) -> Session | None:
    if join is None:
        return None
    user = getattr(request, "user", AnonymousUser())
    if join.account is None:
        is_handled = not (user.is_authenticated or _has_unread_login(request))
    else:
        is_handled = request.session.get(marks.LOGIN) == join.pk and (
            account_of(user) == join.account
        )
    if not is_handled:
        return None
    return Session(
        client_id=join.agent.client_id,
        user_id=join.user_id,
        account=join.account,
        sid=join.sid,
        declared=join.declared,
    )


def _has_unread_login(request: HttpRequest) -> bool:
    """Whether the Django session names a user whom the view has not looked for.

    Django REST framework makes the user of the request that of its own authentication: nobody,
    if the view authenticates nobody.
    """
    return SESSION_KEY in request.session and get_user(request).is_authenticated


def read_join(request: HttpRequest) -> ReadJoin:
    """Read the join of the request's Django session, once; ``join`` only while it is live."""
    read: ReadJoin | None = getattr(request, _READ, None)
    if read is None:
        read = _read_join(request, instants.now())
        setattr(marks.django_request(request), _READ, read)
    return read


def forget_join(request: HttpRequest) -> None:
    """Read the join again when it is asked for next: the session or its login has changed."""
    setattr(marks.django_request(request), _READ, None)


def note_ended_login(request: HttpRequest, over: Over) -> None:
    """Remember, for the end of the request, that it ended a login that a join had given."""
    setattr(marks.django_request(request), _ENDED, over)


def ended_login(request: HttpRequest) -> Over | None:
    """Why the login that this request ended was over; ``None`` if the request ended none."""
    over: Over | None = getattr(request, _ENDED, None)
    return over


def forget_ended_login(request: HttpRequest) -> None:
    """Forget the ended login: the session was bound to another join since, under a new key."""
    setattr(marks.django_request(request), _ENDED, None)


def _read_join(request: HttpRequest, now: datetime) -> ReadJoin:
    session = request.session
    join = (
        Join.objects.using(write_alias())
        .select_related("agent")
        .filter(pk=marks.join_key(session))
        .first()
    )
    # Django may have changed the key in this request, such as after a rotation of SECRET_KEY, when
    # the user is read; the join follows at the request's end.
    keys = (session.session_key, marks.cookie_key(request))
    over = _why_over(join, keys, now)
    return ReadJoin(None if over else join, over)


def _why_over(join: Join | None, keys: Iterable[str | None], now: datetime) -> Over | None:
    if join is None or join.redeemed_at is None or join.ended_at is not None:
        return Over.ENDED
    bound_to = join.session_key_digest or ""
    if not any(secrets.compare_digest(marks.key_digest(key or ""), bound_to) for key in keys):
        return Over.ELSEWHERE
    agent = join.agent
    if agent.status != Agent.Status.ALLOWED or _revoked_since(agent, join.redeemed_at):
        return Over.REVOKED
    return None if now < join.expires_at else Over.EXPIRED


def _revoked_since(agent: Agent, moment: datetime) -> bool:
    """Whether the agent was revoked after that moment, even if it was allowed again since."""
    # Revocations are noted in whole seconds.
    return agent.revoked_at is not None and agent.revoked_at >= moment.replace(microsecond=0)
