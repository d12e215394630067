"""Checks of what the site puts around the app: middleware, URLs, sessions, database, actions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.sessions.backends import cache, signed_cookies
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.checks import CheckMessage
from django.db import connections
from django.urls import NoReverseMatch, reverse
from django.utils.module_loading import import_string
from django.views import View

from poppy_operations.atomic_requests import atomic_aliases
from poppy_operations.checks.configuration import declared
from poppy_operations.checks.messages import message
from poppy_operations.checks.routes import is_served, name_of, views
from poppy_operations.conf import KINDS, conf
from poppy_operations.declarations.callables import require_hook
from poppy_operations.declarations.registry import registry
from poppy_operations.gated_handlers import gated_handler
from poppy_operations.middleware import PersonalAgentMiddleware
from poppy_operations.models.databases import write_alias


def check_middleware(**_named: Any) -> list[CheckMessage]:
    """Check which middleware there is, and in which order. A subclass serves as well."""
    views()
    sessions, own = _position(_is_session_middleware), _position(_is_ours)
    found = []
    if sessions is None and registry.on_website:
        found.append(message("E009"))
    if own is None:
        return [*found, message("E007")]
    for name, position in (
        (SessionMiddleware.__name__, sessions),
        (AuthenticationMiddleware.__name__, _position(_is_authentication_middleware)),
    ):
        if position is not None and own < position:
            found.append(message("E008", other=name))
    return found


def _position(is_wanted: Callable[[Any], bool]) -> int | None:
    for position, path in enumerate(settings.MIDDLEWARE):
        try:
            middleware = import_string(path)
        except ImportError:
            continue  # Django says so itself, when it loads them.
        if is_wanted(middleware):
            return position
    return None


def _is_ours(middleware: Any) -> bool:
    return isinstance(middleware, type) and issubclass(middleware, PersonalAgentMiddleware)


def _is_authentication_middleware(middleware: Any) -> bool:
    return isinstance(middleware, type) and issubclass(middleware, AuthenticationMiddleware)


def _is_session_middleware(middleware: Any) -> bool:
    """Whether it gives requests a Django session: by its class, or else by its name.

    Packages that keep sessions in tables of their own often write it anew.
    """
    if isinstance(middleware, type) and issubclass(middleware, SessionMiddleware):
        return True
    name: str = getattr(middleware, "__name__", "")
    return name.replace("_", "").lower().endswith(SessionMiddleware.__name__.lower())


def check_urls(**_named: Any) -> list[CheckMessage]:
    """Check that the endpoint can be reached where actions are offered on the website."""
    views()
    is_missing = is_served() and registry.on_website and not _has_urls()
    return [message("E010")] if is_missing else []


def _has_urls() -> bool:
    try:
        reverse("poppy_operations:operations")
    except NoReverseMatch:
        return False
    return True


def check_sessions(**_named: Any) -> list[CheckMessage]:
    """Check that a Django session cannot lose the mark that an agent's browser uses it."""
    if not is_served() or not _has_urls():
        return []
    store = import_module(settings.SESSION_ENGINE).SessionStore
    if issubclass(store, signed_cookies.SessionStore):
        return [message("E015")]
    return [message("W004")] if issubclass(store, cache.SessionStore) else []


def check_database(**_named: Any) -> list[CheckMessage]:
    """Check the database of the app's tables, without connecting to it."""
    alias = write_alias()
    connection: Any = connections[alias]
    found = []
    if not connection.settings_dict["AUTOCOMMIT"]:
        found.append(message("E014", alias=alias))
    if connection.vendor == "sqlite" and not connection.is_in_memory_db():
        options = connection.settings_dict["OPTIONS"]
        if str(options.get("transaction_mode")).upper() not in {"IMMEDIATE", "EXCLUSIVE"}:
            found.append(message("W001", alias=alias))
        if "timeout" not in options:
            found.append(message("W002", alias=alias))
    return found


def check_views(**_named: Any) -> list[CheckMessage]:
    """Check that Django lets ordinary visitors into gated views that are async."""
    return [
        message("W003", view=name_of(view), alias=alias)
        for view in views()
        if iscoroutinefunction(view) and _is_gated(view)
        for alias in atomic_aliases(view)
    ]


def _is_gated(view: Callable[..., Any]) -> bool:
    return any(gated_handler(view, method.upper()) for method in View.http_method_names)


def check_actions(**_named: Any) -> list[CheckMessage]:
    """Check the actions that the site declares."""
    views()
    return [
        *(
            message("W005", action=action.name)
            for action in registry
            if action.effects == "external" and action.reconcile_hook is None
        ),
        *_queue([action.name for action in registry if action.background]),
    ]


def _queue(actions: Sequence[str]) -> Iterator[CheckMessage]:
    found = declared()
    if not actions or found is None or not KINDS["QUEUE"].fits(found.get("QUEUE", "the default")):
        return  # Settings that are no dict, and a path that is none, have messages of their own.
    try:
        queue = import_string(conf.queue)
    except (ImportError, TypeError, AttributeError) as error:
        yield message("E016", action=actions[0], queue=conf.queue, error=error)
        return
    try:
        require_hook("It", queue, "an operation_id", "an attempt")
    except TypeError as error:
        yield message("E016", action=actions[0], queue=conf.queue, error=error)


def check_https(**_named: Any) -> list[CheckMessage]:
    """Check, for a deployment, that somebody has thought of HTTPS."""
    is_said = settings.SECURE_SSL_REDIRECT or settings.SECURE_PROXY_SSL_HEADER
    return [] if is_said else [message("W007")]
