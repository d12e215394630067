"""Checks of what the site puts around the app: middleware, URLs, sessions, database, actions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware, RemoteUserMiddleware
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
from poppy_operations.checks.routes import is_served, view_name, views
from poppy_operations.conf import KINDS, conf
from poppy_operations.declarations.callables import require_hook
from poppy_operations.declarations.registry import registry
from poppy_operations.gated_handlers import gated_handler
from poppy_operations.lifecycle.outer_transactions import opening_middleware
from poppy_operations.middleware import PersonalAgentMiddleware
from poppy_operations.models.databases import write_alias


def check_middleware(**_named: Any) -> list[CheckMessage]:
    """Check which middleware there is, and in which order. A subclass serves as well."""
    views()
    sessions = _position(_gives_sessions)
    authentication = _position(lambda one: _is_a(one, AuthenticationMiddleware))
    own = _position(lambda one: _is_a(one, PersonalAgentMiddleware))
    found = []
    if sessions is None and registry.on_website:
        found.append(message("E009"))
    if own is None:
        return [*found, message("E007")]
    others = {SessionMiddleware: sessions, AuthenticationMiddleware: authentication}
    for other, position in others.items():
        if position is not None and own < position:
            found.append(message("E008", other=other.__name__))
    return found


def _position(is_wanted: Callable[[object], bool]) -> int | None:
    positions = (n for n, middleware in enumerate(_middleware()) if is_wanted(middleware))
    return next(positions, None)


def _middleware() -> Iterator[object]:
    for path in settings.MIDDLEWARE:
        try:
            yield import_string(path)
        except ImportError:
            continue  # Django says so itself, when it loads them.


def _is_a(middleware: object, wanted: type) -> bool:
    return isinstance(middleware, type) and issubclass(middleware, wanted)


def _gives_sessions(middleware: object) -> bool:
    """Whether it gives requests a Django session: by its class, or else by its name.

    Packages that keep sessions in tables of their own often have a middleware of their own.
    """
    if _is_a(middleware, SessionMiddleware):
        return True
    name: str = getattr(middleware, "__name__", "")
    return name.replace("_", "").lower().endswith(SessionMiddleware.__name__.lower())


def check_transactions(**_named: Any) -> list[CheckMessage]:
    """Check that no middleware opens a transaction around every gated view."""
    views()
    return [message("W012", middleware=path) for path in opening_middleware() if list(registry)]


def check_urls(**_named: Any) -> list[CheckMessage]:
    """Check that the endpoint can be reached if actions are offered on the website."""
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


def check_sign_on(**_named: Any) -> list[CheckMessage]:
    """Check that no middleware signs browsers in without asking anybody."""
    if not is_served() or not _has_urls():
        return []
    return [
        message("W009", middleware=middleware.__name__)
        for middleware in _middleware()
        if isinstance(middleware, type) and issubclass(middleware, RemoteUserMiddleware)
    ]


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
        message("W003", view=view_name(view), alias=alias)
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
        return  # If the settings are no dict, or QUEUE is no path, another message says so.
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
