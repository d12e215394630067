"""How a process finds the site's actions: in modules ``operations``, and by its URLs."""

from __future__ import annotations

import logging
from functools import cache

from django.conf import settings
from django.urls import get_resolver
from django.utils.module_loading import autodiscover_modules

from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.declarations.registry import registry

logger = logging.getLogger("poppy_operations")


def import_operations() -> None:
    """Import the module ``operations`` of each installed app that has one."""
    autodiscover_modules("operations")


def action_called(name: str) -> DeclaredAction | None:
    """The action of that name; ``None`` if none is declared, such as one that was dropped.

    A script, a scheduler or a worker may have imported no URLs yet, and a site may declare actions
    beside its views: the URLs are imported before an action counts as unknown.
    """
    action = registry.get(name)
    if action is None:
        _import_urls(getattr(settings, "ROOT_URLCONF", None))
        action = registry.get(name)
    return action


@cache
def _import_urls(urlconf: str | None) -> None:
    """Import the site's URLs, and so what they import, once; a failure is logged."""
    if urlconf is None:
        return
    try:
        _ = get_resolver(urlconf).url_patterns
    except Exception:
        logger.exception("The site's URLs cannot be imported, nor the actions that they declare.")
