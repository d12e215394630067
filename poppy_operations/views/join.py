"""The browser join (core profile): an agent gets a ticket, its browser redeems it.

A reference implementation. A site whose identity provider joins browsers does not need it.
"""

from __future__ import annotations

import json
import logging
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.http.request import RawPostDataException
from django.shortcuts import render
from django.urls import get_script_prefix, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods

from poppy_operations.atomic_requests import never_atomic
from poppy_operations.browser import joins, marks
from poppy_operations.browser.given_logins import login_backend
from poppy_operations.browser.state import read_join
from poppy_operations.company import user_of_account, verified_session
from poppy_operations.conf import conf
from poppy_operations.gate.answers import INVALID_REQUEST
from poppy_operations.gate.callers import error_answer
from poppy_operations.lifecycle.durable import Busy, busy_if_unusable
from poppy_operations.models import Join, instants
from poppy_operations.models.lengths import NAME_LENGTH, RETURN_TO_LENGTH
from poppy_operations.responses.bodies import error_response
from poppy_operations.sessions.refusals import InsufficientScope, InvalidSession, SessionRefused
from poppy_operations.sessions.session import Session
from poppy_operations.unread_bodies import is_body_lost

logger = logging.getLogger("poppy_operations")

SCOPE = "poppy:browser-sign-in"

# A ticket is in the address: no other site is to learn it. The page with the form needs the
# weaker policy, since browsers send "Origin: null" from pages without any referrer.
NO_REFERRER = "no-referrer"
FORM_NO_REFERRER = "same-origin"


class BadRequest(Exception):
    """The body of a request for a ticket cannot be used; the message is for the log."""


@never_atomic
@login_not_required
@csrf_exempt
@require_http_methods(["POST"])
@never_cache
def join(request: HttpRequest) -> HttpResponse:
    """Give an agent a ticket for its browser. Cookies are not looked at.

    JSON body, optional: ``return_to``, a path or URL on this site; ``cookie`` with ``name`` and
    ``value``, which the agent read from its browser, so that only this browser redeems the ticket.
    """
    try:
        session = verified_session(request)
        _check_account(session)
        wanted = _wanted(request)
        ticket = joins.issue_ticket(session, now=instants.now(), **wanted)
    except SessionRefused as refusal:
        return error_response(error_answer(refusal))
    except BadRequest as error:
        logger.info("A request for a ticket is refused. %s", error)
        return error_response(INVALID_REQUEST)
    path = reverse("poppy_operations:ticket", args=[ticket])
    seconds = int(joins.TICKET_LIFETIME.total_seconds())
    return JsonResponse({"url": request.build_absolute_uri(path), "expires_in": seconds})


def _check_account(session: Session) -> None:
    """Refuse, before there is a ticket, an account that the join could not sign in to."""
    if session.account is None:
        return
    if SCOPE not in session.scope:
        raise InsufficientScope(SCOPE)
    if _user_for(session.account) is None:
        message = "The account of the Session cannot be signed in to by a join."
        raise InvalidSession(message)


def _user_for(account: str) -> AbstractBaseUser | None:
    user = user_of_account(account)
    if user is None or not user.is_active:
        return None
    is_staff = getattr(user, "is_staff", False) or getattr(user, "is_superuser", False)
    if is_staff and not conf.join_staff:
        return None
    return None if login_backend(user) is None else user


def _wanted(request: HttpRequest) -> dict[str, Any]:
    raw = _request_body(request)
    if not raw:
        return {}
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        message = "The body is not JSON."
        raise BadRequest(message) from error
    if not isinstance(body, dict):
        message = "The body is not a JSON object."
        raise BadRequest(message)
    return {"return_to": _return_to(request, body), "cookie": _cookie(body)}


def _request_body(request: HttpRequest) -> bytes:
    """Read the body; one that cannot be read is none, and must not pass for an empty one."""
    if is_body_lost(request):
        message = "The body came without a Content-Length, or with one that is no number."
        raise BadRequest(message)
    try:
        return request.body
    except (SuspiciousOperation, RawPostDataException, OSError) as error:
        message = "The body is too large, was read by something else, or is cut off."
        raise BadRequest(message) from error


def _return_to(request: HttpRequest, body: dict[str, Any]) -> str:
    return_to = body.get("return_to")
    if return_to is None:
        return ""
    if not isinstance(return_to, str) or not _is_here(request, return_to):
        message = "`return_to` is not a path or URL of this site."
        raise BadRequest(message)
    return return_to


def _is_here(request: HttpRequest, url: str) -> bool:
    if len(url) > RETURN_TO_LENGTH or not url.isprintable():
        return False
    if not url.startswith("/") and not _has_host(url):
        return False
    return url_has_allowed_host_and_scheme(
        url, {request.get_host()}, require_https=request.is_secure()
    )


def _has_host(url: str) -> bool:
    try:
        return bool(urlsplit(url).netloc)
    except ValueError:
        return False


def _cookie(body: dict[str, Any]) -> tuple[str, str] | None:
    cookie = body.get("cookie")
    if cookie is None:
        return None
    name, value = _cookie_members(cookie)
    if isinstance(name, str) and isinstance(value, str) and value and _is_name(name):
        return name, value
    message = "`cookie` is not an object with the `name` and the `value` of a cookie."
    raise BadRequest(message)


def _is_name(name: str) -> bool:
    return 0 < len(name) <= NAME_LENGTH and name.isprintable()


def _cookie_members(cookie: object) -> tuple[object, object]:
    if not isinstance(cookie, dict):
        return None, None
    return cookie.get("name"), cookie.get("value")


@never_atomic
@login_not_required
@require_http_methods(["GET", "POST"])
@csrf_protect
@never_cache
def ticket(request: HttpRequest, ticket: str) -> HttpResponse:
    """Join the browser that opens the address of a ticket.

    If the browser has a login of its own, its user is asked first: whoever sent the user here may
    not be the user's agent. Used, expired and unknown tickets look the same.
    """
    now = instants.now()
    foreign = _foreign_navigation(request)
    if foreign:
        joins.log_bad_ticket(foreign)
        return _invalid(request)
    found = joins.redeemable_join(ticket, request, now)
    if found is None:
        return _invalid(request)
    user = None
    if found.account is not None:
        user = _user_for(found.account)
        if user is None:
            joins.log_bad_ticket("Its account cannot be signed in to by a join.")
            return _invalid(request)
    if request.method == "GET" and _has_other_login(request, found):
        return _ask(request, found, user)
    return _redeem(request, found, user, now)


def _foreign_navigation(request: HttpRequest) -> str:
    """Why neither the User nor the agent opened the address by hand; ``""`` if one of them may."""
    if "prefetch" in request.headers.get("Sec-Purpose", request.headers.get("Purpose", "")):
        return "The browser only fetched its address in advance."
    site = request.headers.get("Sec-Fetch-Site")
    if site is None:
        allowed = conf.join_without_fetch_metadata
        return "" if allowed else "The request has no Sec-Fetch-Site header."
    if request.headers.get("Sec-Fetch-Dest", "document") != "document":
        return "It is opened inside a page: Sec-Fetch-Dest is not `document`."
    if site == "same-origin" or (site == "none" and request.method == "GET"):
        return ""
    return "Another site sent the browser here: Sec-Fetch-Site is neither `none` nor `same-origin`."


def _has_other_login(request: HttpRequest, join: Join) -> bool:
    """Whether the browser has a login; one that a join of the same agent gave is none."""
    user = getattr(request, "user", None)  # A site may be without users.
    if user is None or not user.is_authenticated:
        return False
    earlier = read_join(request).join if marks.LOGIN in request.session else None
    return earlier is None or earlier.agent_id != join.agent_id


def _ask(request: HttpRequest, join: Join, user: AbstractBaseUser | None) -> HttpResponse:
    is_signed_out = user is not None or marks.LOGIN in request.session
    context = {
        "agent": join.agent,
        "present": request.user,
        "future": user,
        "is_signed_out": is_signed_out,
    }
    response = render(request, "poppy_operations/join.html", context)
    response["Referrer-Policy"] = FORM_NO_REFERRER
    response["X-Frame-Options"] = "DENY"
    return response


def _redeem(
    request: HttpRequest, join: Join, user: AbstractBaseUser | None, now: datetime
) -> HttpResponse:
    try:
        with busy_if_unusable():
            is_joined = joins.redeem(request, join, user, now)
    except Busy:
        logger.exception("A browser could not be joined.")
        response = _invalid(request, status=503)
        response["Retry-After"] = "1"
        return response
    if not is_joined:
        return _invalid(request)
    # Looked at again: the host of this request is the one that the browser goes to.
    return_to = join.return_to if _is_here(request, join.return_to) else get_script_prefix()
    return HttpResponseRedirect(return_to, status=303, headers={"Referrer-Policy": NO_REFERRER})


def _invalid(request: HttpRequest, status: int = 400) -> HttpResponse:
    response = render(request, "poppy_operations/ticket_invalid.html", status=status)
    response["Referrer-Policy"] = NO_REFERRER
    return response
