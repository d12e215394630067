"""The views of the site's URLs, and the arguments that Django calls each of them with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.urls import URLResolver, get_resolver


@dataclass(frozen=True)
class Route:
    """One view at one address. ``named`` are the names of the arguments that are passed by name."""

    view: Callable[..., Any]
    path: str
    unnamed: int
    named: frozenset[str]


def views() -> list[Callable[..., Any]]:
    """Give every view of the site's URLs. Importing them declares the site's actions."""
    return [route.view for route in routes()]


def routes() -> list[Route]:
    """Give every route of the site's URLs, with what Django hands to its view."""
    return list(_routes(get_resolver())) if is_served() else []


def is_served() -> bool:
    """Whether this process serves any URLs."""
    return bool(getattr(settings, "ROOT_URLCONF", None))


def view_name(view: Callable[..., Any]) -> str:
    """Name a view as its author does."""
    shown: Any = getattr(view, "cls", None) or getattr(view, "view_class", None) or view
    name = getattr(shown, "__name__", repr(shown))
    path: str = getattr(shown, "__qualname__", name)
    # Django REST framework gives the class that it makes of a function the function's name.
    return path if path.endswith(name) else name


def _routes(resolver: URLResolver) -> Iterator[Route]:
    for entry in resolver.url_patterns:
        pattern: Any = entry.pattern
        captured = frozenset(pattern.regex.groupindex)
        unnamed = 0 if captured else pattern.regex.groups
        if isinstance(entry, URLResolver):
            named = captured | set(entry.default_kwargs)
            for route in _routes(entry):
                yield _within(route, str(pattern), unnamed, named)
        else:
            named = captured | set(entry.default_args)
            yield Route(entry.callback, str(pattern), unnamed, named)


def _within(route: Route, path: str, unnamed: int, named: frozenset[str]) -> Route:
    # As Django does: if anything is passed by name, captures further up are passed only by name.
    names = named | route.named
    above = 0 if names else unnamed
    return replace(route, path=path + route.path, unnamed=above + route.unnamed, named=names)
