"""What can be seen of the site's functions before they are called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction


def is_async(function: object) -> bool:
    """Whether a call gives something to await, as far as the function shows it."""
    return iscoroutinefunction(function) or iscoroutinefunction(
        getattr(type(function), "__call__", None)  # noqa: B004  of its class, as Python calls it
    )


def is_generator(function: object) -> bool:
    """Whether the function is a generator, sync or async: a call runs none of its code."""
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def require_callable(subject: str, function: object) -> None:
    """Refuse what cannot be called, and a generator, whose code a call does not run."""
    if not callable(function):
        message = f"{subject} is a function, not {function!r}."
        raise TypeError(message)
    if is_generator(function):
        message = f"{subject} is a generator, whose code would not run: return, and do not yield."
        raise TypeError(message)


def require_hook(subject: str, hook: object, *arguments: str) -> None:
    """Refuse a hook that cannot be called with these arguments, one after the other."""
    require_callable(subject, hook)
    if is_async(hook):
        message = f"{subject} is called, and not awaited; it cannot be async."
        raise TypeError(message)
    if not takes(hook, *arguments):
        message = f"{subject} is called with {' and '.join(arguments)}, which it does not take."
        raise TypeError(message)


def takes(function: object, *arguments: object, **named: object) -> bool:
    """Whether a function can be called with these arguments, or does not show what it takes.

    If it wraps another function, its own parameters count, and not those of the other.
    """
    parameters = signature_of(function)
    if parameters is None:
        return True
    try:
        parameters.bind(*arguments, **named)
    except TypeError:
        return False
    return True


def signature_of(function: object) -> inspect.Signature | None:
    """The parameters of a function as it is called; ``None`` if it does not show them."""
    called: Callable[..., Any] = function  # type: ignore[assignment]  # ``require_callable``
    try:
        return inspect.signature(called, follow_wrapped=False)
    except (TypeError, ValueError):
        return None
