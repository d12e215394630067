"""How a gated handler is recognised: a function, a method of a class, or a ViewSet's action."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

# The attributes by which the middleware, the checks and the schema know a gated view.
GATE = "poppy_gate"
ACTION = "poppy_action"


def gated_handler(callback: Callable[..., Any], method: str | None) -> bool:
    """Whether the handler of this method of a view is behind the gate.

    A handler says so itself, by a frozenset of methods in ``poppy_gate``; it may be a function, a
    method of a class or of a viewset, or the function under ``@api_view``.
    """
    return any(method in getattr(handler, GATE, ()) for handler in handlers(callback, method))


def handlers(callback: Callable[..., Any], method: str | None) -> Iterable[object]:
    """Everything in a view that may answer a method, from the outside in."""
    yield callback
    view_class = getattr(callback, "cls", None) or getattr(callback, "view_class", None)
    if view_class is None or method is None:
        return
    yield view_class
    name = method.lower()
    actions: dict[str, str] = getattr(callback, "actions", None) or {}
    handler = getattr(view_class, actions.get(name, name), None)
    if handler is None and method == "HEAD":
        handler = getattr(view_class, actions.get("get", "get"), None)
    yield handler
    yield _function_of_api_view(handler)


def _function_of_api_view(handler: object) -> object:
    # Django REST framework copies only what it knows from the function to the class that it makes.
    if not inspect.isfunction(handler) or "func" not in handler.__code__.co_freevars:
        return None
    return inspect.getclosurevars(handler).nonlocals.get("func")
