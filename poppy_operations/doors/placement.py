"""Where a gate may stand: inside the site's own guards, on what answers, and once."""

from __future__ import annotations

import inspect
from typing import Any

from poppy_operations.declarations.callables import is_generator
from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.doors.arguments import KNOWN_METHODS
from poppy_operations.gated_handlers import ACTION, GATE

# Marks a view that checks the Session and its scope inside itself, too late for a gate around it.
SESSION_CHECK = "poppy_session_check"


def reject_misuse(action: DeclaredAction, view: Any, how: str) -> None:
    """Refuse, at import, what would put the gate outside the site's own permissions."""
    name = getattr(view, "__name__", repr(view))
    if not callable(view) or isinstance(view, type | staticmethod):
        message = f"@{how} of {action.name} goes on a view function or on the handlers of a class."
        raise TypeError(message)
    _reject_generator(action, view, how)
    if name == "dispatch":
        message = (
            f"@{how} of {action.name} goes on the handlers of a class (post, put, …), not on "
            "dispatch: the site's own permissions are asked inside dispatch."
        )
        raise TypeError(message)
    if hasattr(view, "login_url"):
        message = (
            f"@{how} of {action.name} goes below login_required and permission_required on "
            f"{name}: the site's own guards are asked first."
        )
        raise TypeError(message)
    _reject_wrong_order(action, view, how)
    reject_nested(action, view, how)


def _reject_generator(action: DeclaredAction, view: Any, how: str) -> None:
    # Of an external action nobody would know the outcome, though none of its code has run.
    if is_generator(view):
        name = getattr(view, "__qualname__", repr(view))
        message = (
            f"@{how} of {action.name} goes on a view that returns its response, and {name} "
            "yields: return StreamingHttpResponse(…) instead."
        )
        raise TypeError(message)


def _reject_wrong_order(action: DeclaredAction, view: Any, how: str) -> None:
    if hasattr(view, "cls"):
        message = (
            f"@api of {action.name} goes below @api_view, or on the handlers of a class: "
            "authentication is asked first."
        )
        raise TypeError(message)
    if hasattr(view, "view_class"):
        message = (
            f"@{how} of {action.name} goes on the handlers of {view.view_class.__name__} (post, "
            "put, …), not on what as_view() gives: the site's own permissions are asked inside it."
        )
        raise TypeError(message)
    if hasattr(view, SESSION_CHECK):
        message = f"@{how} of {action.name} goes below @personal_agents: the scope is asked first."
        raise TypeError(message)


def reject_nested(action: DeclaredAction, view: Any, how: str) -> None:
    """Refuse a gate around a gate: which of the two would be asked is nobody's guess."""
    if not hasattr(view, GATE):
        return
    name = getattr(view, "__qualname__", repr(view))
    message = (
        f"@{how} of {action.name} goes on a view once, and {name} is behind the gate of "
        f"{getattr(view, ACTION).name} already. One request performs one action: put both into the "
        "terms of one."
    )
    raise TypeError(message)


def reject_ungated(action: DeclaredAction, view: Any, methods: frozenset[str], how: str) -> None:
    """Refuse the handler of a method that is not among those behind the gate."""
    method = getattr(view, "__name__", "").upper()
    if method not in KNOWN_METHODS or method in methods:
        return
    # A function may be called ``delete`` and take POST; a method of a class may not.
    if next(iter(inspect.signature(view).parameters), None) != "self":
        return
    message = (
        f"@{how} of {action.name} does not put {view.__qualname__} behind the gate, since methods= "
        f'names other methods: {", ".join(sorted(methods))}. Write methods=["{method}"], or give '
        "the handler the name of the method that it answers."
    )
    raise TypeError(message)


def reject_class(action: DeclaredAction, target: Any, names: list[str]) -> None:
    """Refuse a class that ``run`` cannot be called in, or whose handlers have a gate already."""
    if not names:
        message = f"@gated of {action.name} goes on a class with handlers such as post."
        raise TypeError(message)
    # A class of Django REST framework is recognised by this, without importing it.
    if hasattr(target, "initialize_request"):
        message = (
            f"@gated of {action.name} is for the website, and {target.__name__} is a class of "
            "Django REST framework: put @api on its handlers."
        )
        raise TypeError(message)
    for name in names:
        reject_nested(action, getattr(target, name), "gated")
        _reject_generator(action, getattr(target, name), "gated")
