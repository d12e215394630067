"""The login that a join gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from django.conf import settings
from django.contrib.auth import SESSION_KEY, load_backend, login
from django.contrib.auth.backends import RemoteUserBackend
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest

from poppy_operations.browser import marks

_JOINING = "_poppy_joining"


def login_backend(user: AbstractBaseUser) -> str | None:
    """Name the authentication backend that finds the user again at each request.

    It is the one that the site has put on the user, or else the first that knows the user: some
    backends know permissions only. ``None`` if there is none: a login would be nobody's.
    """
    chosen: str | None = getattr(user, "backend", None)
    return chosen or next(_backends_that_know(user), None)


def _backends_that_know(user: AbstractBaseUser) -> Iterator[str]:
    backends = [(path, load_backend(path)) for path in settings.AUTHENTICATION_BACKENDS]
    # Django's header sign-on ends the logins of its own backend if the header is missing.
    backends.sort(key=lambda named: isinstance(named[1], RemoteUserBackend))
    for path, backend in backends:
        get_user = getattr(backend, "get_user", None)
        if get_user is not None and get_user(user.pk) is not None:
            yield path


def give_login(
    request: HttpRequest, session: SessionBase, user: AbstractBaseUser, backend: str | None
) -> None:
    """Log the user in, in a session with another key that holds nothing of another login."""
    account_key = user._meta.pk.value_to_string(user)  # noqa: SLF001  as Django's login() does
    if marks.LOGIN in session and session.get(SESSION_KEY) == account_key:
        marks.remove_login(session)
    elif SESSION_KEY in session:
        marks.empty(session)  # what another login left there is nobody else's business
    joining = marks.django_request(request)
    setattr(joining, _JOINING, True)
    try:
        # Django's stubs promise the configured model; any of its base will do.
        login(request, cast("Any", user), backend=backend)
    finally:
        delattr(joining, _JOINING)


def is_joining(request: HttpRequest) -> bool:
    """Whether a join gives the login that happens just now."""
    return hasattr(request, _JOINING)


def end_given_login(request: HttpRequest, session: SessionBase) -> None:
    """End the login in a session if a join gave it."""
    if marks.LOGIN in session:
        take_login_back(request, session)


def take_login_back(request: HttpRequest, session: SessionBase) -> None:
    """End the login in a session, for the request as well."""
    marks.remove_login(session)
    request.user = AnonymousUser()
