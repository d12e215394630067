"""What a door may be given: methods, names to ignore, and functions that can take its requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from contextlib import suppress
from difflib import get_close_matches
from inspect import Parameter
from inspect import signature as signature_with_wrapped
from typing import Any, Final, Literal, TypeVar

from poppy_operations.declarations.arguments import listed
from poppy_operations.declarations.callables import (
    is_async,
    require_callable,
    signature_of,
    takes,
)
from poppy_operations.declarations.declared_action import DeclaredAction

F = TypeVar("F", bound=Callable[..., Any])

Method = Literal["GET", "HEAD", "OPTIONS", "TRACE", "POST", "PUT", "PATCH", "DELETE"]
# No ``str`` among them: its entries would be its characters.
Methods = list[Method] | tuple[Method, ...] | AbstractSet[Method]
Names = list[str] | tuple[str, ...] | AbstractSet[str]

GATED_METHODS: Final[tuple[Method, ...]] = ("POST", "PUT", "PATCH", "DELETE")
# What a site can leave out. Any other method is always behind the gate.
KNOWN_METHODS: Final = frozenset({*GATED_METHODS, "GET", "HEAD", "OPTIONS", "TRACE"})
# The attribute that tells the checks what a gated view calls with the arguments of its URL.
FUNCTIONS = "poppy_functions"
_VARIABLE = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def named_methods(methods: object) -> frozenset[str]:
    """The methods that a door is to gate, in upper case.

    If a name is misspelt or no method is named, a method that was meant would not be gated: raises
    ``ValueError``, or ``TypeError`` if it is no collection.
    """
    named = listed("methods=", methods, "HTTP methods")
    if not named:
        message = "methods= names no HTTP method: nothing would be behind the gate. Leave it out."
        raise ValueError(message)
    return frozenset(map(_method, named))


def _method(named: object) -> str:
    method = named.upper() if isinstance(named, str) else None
    if method in KNOWN_METHODS:
        return method
    near = get_close_matches(str(named).upper(), KNOWN_METHODS, n=1)
    hint = f"Did you mean {near[0]}?" if near else f"They are {', '.join(sorted(KNOWN_METHODS))}."
    message = (
        f"methods= names {named!r}, which is no HTTP method that a door can leave out. {hint} Any "
        "other method is behind the gate without being named."
    )
    raise ValueError(message)


def ignored_names(ignore: object) -> tuple[str, ...]:
    """The names of what does not matter, in a copy: they are read at every request."""
    named = listed("ignore=", ignore, "names")
    for name in named:
        if not isinstance(name, str) or not name.strip():
            message = f"ignore= lists names of fields, such as 'nonce', and {name!r} is none."
            raise TypeError(message)
    return tuple(map(str, named))


def reject_unfit(action: DeclaredAction, view: Any, **functions: object) -> None:
    """Refuse functions of the site that cannot take what their view takes, as far as it shows.

    ``terms`` has to be given. If the view has ``**kwargs``, only the system checks or the first
    request show what it is called with.
    """
    for name, function in functions.items():
        if function is None and name != "terms":
            continue
        require_callable(f"{action.name}: {name}=", function)
        own = ("self",) if wants_self(function) else ()
        if name == "replay":
            if not takes(function, *own, "request", "operation"):
                message = f"{action.name}: replay= is called as replay(request, operation)."
                raise TypeError(message)
            continue
        _reject_other_parameters(f"{action.name}: {name}=", function, own, _named_by(view))


def _reject_other_parameters(
    subject: str, function: object, own: tuple[str, ...], named: tuple[str, ...] | None
) -> None:
    shown = signature_of(function)
    if shown is None:
        return
    try:
        shown.bind_partial(*own, "request")
    except TypeError as error:
        message = f"{subject} is called with the request, which it does not take."
        raise TypeError(message) from error
    if named is None or takes(function, *own, "request", **dict.fromkeys(named)):
        return
    if not takes(function, *own, "request", *named):
        called = ", ".join(("request", *named))
        message = f"{subject} is called as its view is, with ({called}), which it does not take."
        raise TypeError(message)


def _named_by(view: Any) -> tuple[str, ...] | None:
    """The arguments of every call of a view, after the request; ``None`` if they may differ."""
    shown = signature_of(view)
    if shown is None:
        return None
    parameters = list(shown.parameters.values())
    if parameters and parameters[0].name == "self":
        del parameters[0]
    if any(one.kind in _VARIABLE or one.default is not one.empty for one in parameters):
        return None
    return tuple(one.name for one in parameters[1:])


def wants_self(function: Any) -> bool:
    """Whether a function of the site is written in the class of its view."""
    try:
        parameters = signature_with_wrapped(function).parameters
    except (TypeError, ValueError):
        return False
    return next(iter(parameters), None) == "self"


def reject_async(action: DeclaredAction, view: Any, **functions: Any) -> None:
    """Refuse async functions beside a sync view, which nobody would await."""
    if is_async(view):
        return
    for name, function in functions.items():
        if is_async(function):
            message = f"{action.name}: {name}= is async, and the view is not."
            raise TypeError(message)


def reject_in_run(action: DeclaredAction, **functions: object) -> None:
    """Refuse what ``run`` would not await: an outcome that nobody knows is the worst of all.

    In an event loop ``run`` could not use the database either, and would fail at the first agent.
    """
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        message = f"{action.name}: run() was called in an async handler: await arun() instead."
        raise TypeError(message)
    for name, function in functions.items():
        require_callable(f"{action.name}: the {name} of run()", function)
        if is_async(function):
            message = f"{action.name}: the {name} of run() is async: await arun() instead."
            raise TypeError(message)


def reject_in_arun(action: DeclaredAction, **functions: object) -> None:
    """Refuse what cannot be called."""
    for name, function in functions.items():
        require_callable(f"{action.name}: the {name} of arun()", function)


def with_functions(gated: F, **functions: object) -> F:
    """Note at a gated view what it calls with the arguments of its URL."""
    setattr(gated, FUNCTIONS, {name: one for name, one in functions.items() if one is not None})
    return gated


def called(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call a function of the site; if it does not take the arguments, say so."""
    try:
        return function(*arguments, **named)
    except TypeError as error:
        if takes(function, *arguments, **named):
            raise
        name = getattr(function, "__qualname__", repr(function))
        message = (
            f"{name} is called with the request and the arguments of the URL, as its view is, and "
            f"does not take them: {error}"
        )
        raise TypeError(message) from error
