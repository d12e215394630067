"""A check of the site's source: ``run`` is called only if ``@gated`` prepared the handlers."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from types import FunctionType
from typing import Any

from django.core.checks import CheckMessage
from django.views import View

from poppy_operations.checks.messages import message
from poppy_operations.checks.routes import view_name, views
from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.doors.arguments import FUNCTIONS
from poppy_operations.gated_handlers import ACTION

RUNS = ("run", "arun")
_FRAMEWORKS = ("django", "rest_framework", "builtins")


def check_runs(**_named: Any) -> list[CheckMessage]:
    """Check every view of the site's URLs whose source can be read and names the action."""
    found = {one.msg: one for view in views() for one in _unprepared(view)}
    return list(found.values())


def _unprepared(view: Callable[..., Any]) -> Iterator[CheckMessage]:
    view_class = getattr(view, "cls", None) or getattr(view, "view_class", None)
    for function in _functions(view, view_class):
        for action, called in _runs(function, view_class):
            if action not in _prepared_for(view_class):
                yield message("E019", view=view_name(view), call=called, action=action.name)


def _functions(view: Callable[..., Any], view_class: type | None) -> Iterator[FunctionType]:
    """The site's functions that a view consists of."""
    if view_class is None:
        members: list[Any] = [view]
    else:
        own = [one for one in view_class.__mro__ if not _is_of_a_framework(one)]
        members = [member for one in own for member in vars(one).values()]
    for member in members:
        function = inspect.unwrap(member) if callable(member) else member
        if isinstance(function, FunctionType):
            yield function


def _is_of_a_framework(one: type) -> bool:
    return one.__module__.partition(".")[0] in _FRAMEWORKS


def _runs(function: FunctionType, view_class: type | None) -> Iterator[tuple[DeclaredAction, str]]:
    """The actions whose ``run`` a function calls by a name that can be followed."""
    for node in ast.walk(_source(function)):
        if isinstance(node, ast.Attribute) and node.attr in RUNS:
            found = _found(node.value, _visible_names(function, view_class))
            if isinstance(found, DeclaredAction):
                yield found, node.attr


def _source(function: FunctionType) -> ast.AST:
    try:
        source = inspect.getsource(function)
        # A method is indented as it stands in its class.
        return ast.parse(f"if True:\n{source}" if source[:1].isspace() else source)
    except (OSError, TypeError, SyntaxError):
        return ast.Module([], [])


def _visible_names(function: FunctionType, view_class: type | None) -> Mapping[str, Any]:
    names = {**function.__globals__, "self": view_class}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # The surrounding function never assigned the name.
            names[name] = cell.cell_contents
    return names


def _found(node: ast.AST, names: Mapping[str, Any]) -> object:
    """What a name, or a chain of attributes, stands for; ``None`` if that cannot be seen."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        return getattr(_found(node.value, names), node.attr, None)
    return None


def _prepared_for(view_class: type | None) -> set[DeclaredAction]:
    """The actions whose ``gated`` decorates a class: their gates ask for no terms."""
    handlers = [getattr(view_class, name, None) for name in View.http_method_names]
    return {
        getattr(handler, ACTION)
        for handler in handlers
        if "terms" not in getattr(handler, FUNCTIONS, {"terms": None})
    }
