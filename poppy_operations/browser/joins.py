"""Joins, from the ticket to the end (core profile, browser join). The only writer of ``Join``."""

from __future__ import annotations

import logging
import secrets
from contextlib import suppress
from datetime import datetime, timedelta

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.sessions.backends.base import SessionBase
from django.db import DatabaseError, InterfaceError, OperationalError
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from poppy_operations.browser import marks
from poppy_operations.browser.given_logins import (
    end_given_login,
    give_login,
    login_backend,
    take_login_back,
)
from poppy_operations.browser.state import Over, forget_ended_login, forget_join
from poppy_operations.company import get_company
from poppy_operations.conf import conf
from poppy_operations.models import Agent, Join
from poppy_operations.models.databases import write_alias
from poppy_operations.protocol.canonical import digest
from poppy_operations.protocol.ids import is_id
from poppy_operations.sessions.agents import find_agent
from poppy_operations.sessions.clock import epoch, stored
from poppy_operations.sessions.refusals import InvalidSession
from poppy_operations.sessions.session import Session

logger = logging.getLogger("poppy_operations")

TICKET_LIFETIME = timedelta(seconds=60)


def issue_ticket(
    session: Session, *, now: datetime, return_to: str = "", cookie: tuple[str, str] | None = None
) -> str:
    """Make a ticket with which one browser joins the Session, for ``TICKET_LIFETIME``.

    ``return_to`` is the address that the browser then goes to. With ``cookie``, a name and a value,
    a browser can redeem the ticket only if it has this cookie.

    Raises:
        InvalidSession: the agent is no longer on the allow-list.
    """
    agent = find_agent(session.client_id)
    if agent is None:
        message = "The agent of the Session is not on the allow-list any more."
        raise InvalidSession(message)
    ticket = secrets.token_urlsafe(16)
    name, value = cookie or ("", "")
    Join.objects.using(write_alias()).create(
        agent=agent,
        ticket_digest=digest(ticket),
        ticket_expires_at=now + TICKET_LIFETIME,
        user_id=session.user_id,
        account=session.account,
        sid=session.sid,
        declared=session.declared,
        return_to=return_to,
        cookie_name=name,
        cookie_digest=digest(value) if name else "",
        created_at=now,
        expires_at=_last_moment(session, now),
    )
    return ticket


def _last_moment(session: Session, now: datetime) -> datetime:
    end = now + conf.join_lifetime
    # Compared as seconds: a token may be valid for longer than there are years.
    if session.token_expires_at is None or epoch(end) < session.token_expires_at:
        return end
    return stored(session.token_expires_at)


def redeemable_join(ticket: str, request: HttpRequest, now: datetime) -> Join | None:
    """Find the join that this browser may redeem with the ticket.

    A ticket that was redeemed before may have been stolen: using it again ends its join.
    """
    tickets = Join.objects.using(write_alias()).select_related("agent")
    join = tickets.filter(ticket_digest=digest(ticket)).first() if is_id(ticket) else None
    if join is None:
        log_bad_ticket("There is no such ticket.")
        return None
    if join.redeemed_at is not None:
        _end_if_redeemed(join, now)
        log_bad_ticket("It was used before, and its join is ended.")
        return None
    reason = _ticket_fault(join, request, now)
    if reason:
        log_bad_ticket(reason)
    return None if reason else join


def _ticket_fault(join: Join, request: HttpRequest, now: datetime) -> str:
    if join.ended_at is not None:
        return "Its join is over."
    if now >= min(join.ticket_expires_at, join.expires_at):
        return "It has expired."
    if join.agent.status != Agent.Status.ALLOWED:
        return "The agent is not on the allow-list, or is revoked."
    if not _has_cookie(request, join):
        return "The browser has not got the cookie that the ticket was made for."
    return ""


def log_bad_ticket(reason: str) -> None:
    """Log why a ticket does not join a browser, which nobody is told. Never the ticket."""
    logger.info("A ticket is refused. %s", reason)


def _has_cookie(request: HttpRequest, join: Join) -> bool:
    if not join.cookie_name:
        return True
    value = request.COOKIES.get(join.cookie_name, "")
    return secrets.compare_digest(digest(value), join.cookie_digest)


def redeem(request: HttpRequest, join: Join, user: AbstractBaseUser | None, now: datetime) -> bool:
    """Join this browser, and sign it in as ``user`` if the Session has an account.

    Return ``False`` if another browser was first (then neither of them stays joined), or if the
    site has no authentication backend that would know ``user`` again. The Django session gets
    another key, so that nobody who knew the old one is joined.

    Raises:
        OperationalError: the database cannot be written now. The ticket can be used again then,
            as after any other exception.
    """
    backend = None if user is None else login_backend(user)
    if user is not None and backend is None:
        log_bad_ticket("No authentication backend knows the user of its account.")
        return False
    if not _claim(join, now):
        _end_if_redeemed(join, now)
        log_bad_ticket("It was used or ended by another request meanwhile.")
        return False
    try:
        return _join(request, join, user, backend, now)
    except Exception:
        if user is not None:
            take_login_back(request, request.session)
        _release(join)
        raise


def _join(
    request: HttpRequest,
    join: Join,
    user: AbstractBaseUser | None,
    backend: str | None,
    now: datetime,
) -> bool:
    session: SessionBase = request.session
    earlier = marks.join_key(session)
    forget_join(request)
    forget_ended_login(request)
    # The key changes before the session is marked: the old key of a session that no agent used
    # is of no use to anybody.
    if user is not None:
        give_login(request, session, user, backend)
    else:
        end_given_login(request, session)
        session.cycle_key()
    session[marks.MARK] = True
    session[marks.JOIN] = join.pk
    if user is not None:
        session[marks.LOGIN] = join.pk
    end_join(earlier, Over.NEW_JOIN, now)
    if _bind(join, session, gave_login=user is not None):
        return True
    end_given_login(request, session)
    return False


def join_browser(
    request: HttpRequest, session: Session, user: AbstractBaseUser | None, now: datetime
) -> bool:
    """Join this browser to a Session that the site's identity provider has joined it to.

    ``session`` holds what the provider vouches for, and ``user`` is the user of its account. Return
    ``False`` if the agent is revoked, or if no authentication backend would know the user again.

    Raises:
        InvalidSession: the agent is not on the allow-list, or ``user`` has another account.
        OperationalError: as ``redeem``.
    """
    if user is not None and get_company().account_of(user) != session.account:
        message = "The user is not the one of the account that the Session is signed in to."
        raise InvalidSession(message)
    join = redeemable_join(issue_ticket(session, now=now), request, now)
    return join is not None and redeem(request, join, user, now)


def _claim(join: Join, now: datetime) -> bool:
    unused = Q(redeemed_at=None, ended_at=None, ticket_expires_at__gt=now)
    allowed = Agent.objects.filter(status=Agent.Status.ALLOWED)
    claim = Join.objects.using(write_alias()).filter(unused, pk=join.pk, agent__in=allowed)
    try:
        return bool(claim.update(redeemed_at=now))
    except OperationalError:
        # So some databases say that another transaction changed the row first.
        return bool(claim.update(redeemed_at=now))


def _release(join: Join) -> None:
    """Let the ticket be used again, if nobody else used it meanwhile: its join was never made."""
    with suppress(DatabaseError, InterfaceError):
        Join.objects.using(write_alias()).filter(pk=join.pk, ended_at=None).update(
            redeemed_at=None, session_key_digest=None, gave_login=False
        )


def _bind(join: Join, session: SessionBase, *, gave_login: bool) -> bool:
    key = session.session_key
    return bool(
        Join.objects.using(write_alias())
        .filter(pk=join.pk, ended_at=None)
        .update(session_key_digest=marks.key_digest(key or ""), gave_login=gave_login)
    )


def end_join(pk: int, because: Over, now: datetime) -> None:
    """End a join. The login that it gave ends when it is read next; see ``logins``."""
    _end_joins(Join.objects.filter(pk=pk), because, now)


def end_joins_of(agent: Agent, now: datetime) -> None:
    """End every join of an agent for good; its browsers stay marked.

    A revoked agent's joins are over anyway; these stay over even if the agent is allowed again.
    """
    _end_joins(Join.objects.filter(agent=agent), Over.REVOKED, now)


def _end_if_redeemed(join: Join, now: datetime) -> None:
    _end_joins(Join.objects.filter(pk=join.pk).exclude(redeemed_at=None), Over.USED_TWICE, now)


def _end_joins(which: QuerySet[Join], because: Over, now: datetime) -> None:
    which.using(write_alias()).filter(ended_at=None).update(ended_at=now, ended_because=because)


def follow_key(pk: int, old_key: str, new_key: str) -> None:
    """Bind a join to the new key of the Django session that it was bound to."""
    bound = Join.objects.using(write_alias()).filter(
        pk=pk, session_key_digest=marks.key_digest(old_key)
    )
    bound.update(session_key_digest=marks.key_digest(new_key))


def purge_joins(before: datetime, *, dry_run: bool = False, batch: int = 500) -> int:
    """Delete up to ``batch`` joins that were over at that time, and return how many.

    Browsers keep their marks. With ``dry_run`` all such joins are counted, and none is deleted.
    """
    over = Q(ended_at__lt=before) | Q(expires_at__lt=before)
    over |= Q(redeemed_at=None, ticket_expires_at__lt=before)
    joins = Join.objects.using(write_alias()).filter(over)
    if dry_run:
        return joins.count()
    some = list(joins.values_list("pk", flat=True)[:batch])
    number, _ = joins.filter(pk__in=some).delete()
    return number
