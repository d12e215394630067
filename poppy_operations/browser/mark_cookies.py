"""The mark in a cookie of its own, which stays when a Django session is lost.

Anything may end a Django session: a sign-out, another middleware, a time-out, a full cache. The
cookie is signed, and holds the moment until which it marks, and nothing about anybody. It can only
add a mark: if another site of the domain sets cookies of this name, the mark stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_cache_control, patch_vary_headers

from poppy_operations.sessions.clock import epoch

# Browsers keep no cookie for longer, the Django session's included.
LONGEST_COOKIE = int(timedelta(days=400).total_seconds())

CLEAR = "Clear-Site-Data"
ALL_ELSE = {'"cache"', '"clientHints"', '"executionContexts"', '"storage"'}

_SUFFIX = "_agent"


def name() -> str:
    """Give the cookie's name, which differs between sites as their session cookies' names do."""
    return f"{settings.SESSION_COOKIE_NAME}{_SUFFIX}"


def seconds_left(request: HttpRequest, *, old_keys: bool = True) -> int:
    """Say for how many seconds a browser's cookie still marks it; 0 if it does not.

    Without ``old_keys``, a cookie signed under a key of ``SECRET_KEY_FALLBACKS`` does not count.
    """
    values = list(_cookie_values(request))
    if not values:
        return 0
    signer = _signer() if old_keys else _signer(fallback_keys=())
    return max(0, *(_signed_end(value, signer) - epoch() for value in values))


def is_in(request: HttpRequest) -> bool:
    """Whether the browser sent a cookie of this name, whatever it is worth."""
    return any(True for _ in _cookie_values(request))


def _signed_end(value: str, signer: Signer) -> int:
    try:
        return int(signer.unsign(value))
    except (BadSignature, ValueError):
        return 0  # another site's, forged, or signed under a key that is gone


def _cookie_values(request: HttpRequest) -> Iterator[str]:
    """Give every value that came under the name: Django keeps one, and others may choose which."""
    cookies, header = request.COOKIES, request.META.get("HTTP_COOKIE", "")
    if not cookies and not header:
        return
    sought = name()
    if sought in cookies:
        yield cookies[sought]
    if sought in header:
        for pair in re.split("[;,]", header):  # a comma: an ASGI server had two Cookie lines
            key, _, value = pair.partition("=")
            if key.strip() == sought:
                yield value.strip()


def set_in(response: HttpResponseBase, seconds: int) -> None:
    """Mark the browser for so many seconds, by a cookie with the session cookie's attributes."""
    seconds = min(seconds, LONGEST_COOKIE)
    response.set_cookie(
        name(),
        _signer().sign(str(epoch() + seconds)),
        max_age=seconds,
        path=settings.SESSION_COOKIE_PATH,
        domain=settings.SESSION_COOKIE_DOMAIN,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite=settings.SESSION_COOKIE_SAMESITE,
    )
    _keep_to_the_browser(response)


def may_be_lost_by(response: HttpResponseBase) -> bool:
    """Whether an answer may take the cookie from the browser, as sign-outs do with all cookies."""
    return name() in response.cookies or CLEAR in response.headers


def keep_in(response: HttpResponseBase) -> None:
    """Remove from an answer what would delete the cookie in the browser."""
    response.cookies.pop(name(), None)
    cleared = {kind.strip() for kind in response.headers.get(CLEAR, "").split(",")}
    if cleared & {'"*"', '"cookies"'}:
        kept = cleared - {'"*"', '"cookies"'} | (ALL_ELSE if '"*"' in cleared else set())
        del response.headers[CLEAR]
        if kept:
            response.headers[CLEAR] = ", ".join(sorted(kept))


def delete_in(response: HttpResponseBase) -> None:
    """Have the browser drop the cookie."""
    response.delete_cookie(
        name(),
        path=settings.SESSION_COOKIE_PATH,
        domain=settings.SESSION_COOKIE_DOMAIN,
        samesite=settings.SESSION_COOKIE_SAMESITE,
    )
    _keep_to_the_browser(response)


def _keep_to_the_browser(response: HttpResponseBase) -> None:
    # From a shared cache the mark would reach browsers of other people.
    patch_vary_headers(response, ["Cookie"])
    patch_cache_control(response, private=True)


def _signer(**named: Any) -> Signer:
    return Signer(salt="poppy_operations.browser.mark", **named)
