"""Breaks a rule in a module that is loaded: its functions get the code of the changed source.

Nothing is imported again, so that whoever holds a function, a class or a decorated view has the
broken one. What a module or a class assigns is assigned anew, also where it was imported by name.
"""

from __future__ import annotations

import ast
import gc
import importlib
import sys
from collections.abc import Iterator
from inspect import CO_NEWLOCALS
from types import CodeType, FunctionType, ModuleType
from typing import Any

Key = tuple[str, int, bytes]
# Statements of which nothing but the code within them may change.
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class CannotBreak(ValueError):
    """The change is one that cannot be made in a loaded module."""


def check_breakable(before: str, after: str) -> None:
    """Raise ``CannotBreak``, or ``SyntaxError``, if a change cannot be made in a loaded module."""
    _changed_code(before, after, "")
    list(_changed_statements(ast.parse(before).body, ast.parse(after).body, ()))


def break_module(name: str, before: str, after: str) -> None:
    """Make a loaded module what it were if its source had been the other one.

    Raises:
        CannotBreak: what would be changed is not in the module, as if it were of another source.
    """
    module = importlib.import_module(name)
    changed = _changed_code(before, after, str(module.__file__))
    found = 0
    for one in gc.get_objects():
        # Not isinstance: it would evaluate each lazy object that some test has left.
        if type(one) is FunctionType and one.__code__.co_filename == module.__file__:
            code = changed.get(_key(one.__code__))
            if code is not None:
                found += code != one.__code__
                one.__code__ = code
    statements = _changed_statements(ast.parse(before).body, ast.parse(after).body, ())
    for within, statement in statements:
        found += 1
        _assign(module, within, statement)
    if not found:
        message = f"{name}: nothing that is loaded would be changed."
        raise CannotBreak(message)
    # Statements were made by what is broken now. Django is set up by then, unlike at the start.
    importlib.import_module("poppy_operations.models.statements").Texts.known.clear()


def _changed_code(before: str, after: str, filename: str) -> dict[Key, CodeType]:
    """The code of each function of the module, with the one that takes its place."""
    pairs: dict[Key, CodeType] = {}
    _pair(compile(before, filename, "exec"), compile(after, filename, "exec"), pairs)
    return pairs


def _pair(old: CodeType, new: CodeType, pairs: dict[Key, CodeType]) -> None:
    """Pair the functions of a module or a class; those in a function are made when it is called."""
    if len(_inner(old)) != len(_inner(new)):
        if old.co_flags & CO_NEWLOCALS:
            return
        message = f"{old.co_qualname}: it has more or fewer functions within."
        raise CannotBreak(message)
    for inner, its_new in zip(_inner(old), _inner(new), strict=True):
        if inner.co_freevars == its_new.co_freevars:
            pairs[_key(inner)] = its_new
        _pair(inner, its_new, pairs)


def _inner(code: CodeType) -> list[CodeType]:
    return [one for one in code.co_consts if isinstance(one, CodeType)]


def _key(code: CodeType) -> Key:
    return code.co_qualname, code.co_firstlineno, code.co_linetable


def _changed_statements(
    before: list[ast.stmt], after: list[ast.stmt], within: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], ast.stmt]]:
    """The assignments of a module and its classes that are others, or made of others."""
    if len(before) != len(after):
        message = f"{'.'.join(within) or 'The module'}: it has more or fewer statements."
        raise CannotBreak(message)
    names: set[str] = set()
    for old, new in zip(before, after, strict=True):
        if isinstance(old, DEFINITIONS) and isinstance(new, DEFINITIONS):
            if _around(old) != _around(new):
                message = f"{old.name}: only what is inside a definition can be changed."
                raise CannotBreak(message)
            if isinstance(old, ast.ClassDef):
                yield from _changed_statements(old.body, new.body, (*within, old.name))
        elif ast.dump(old) != ast.dump(new) or names & _names(new, ast.Load):
            names |= _names(new, ast.Store)
            yield within, new


def _around(node: ast.AST) -> str:
    """What is evaluated where a function or class is defined: decorators, defaults, bases."""
    return "".join(
        f"{name}={ast.dump(value) if isinstance(value, ast.AST) else _dumped(value)}"
        for name, value in ast.iter_fields(node)
        if name != "body"
    )


def _dumped(value: Any) -> str:
    if isinstance(value, list):
        return str([ast.dump(one) if isinstance(one, ast.AST) else one for one in value])
    return repr(value)


def _names(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    return {
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, context)
    }


def _assign(module: ModuleType, within: tuple[str, ...], statement: ast.stmt) -> None:
    holder: Any = module
    for name in within:
        holder = getattr(holder, name)
    found: dict[str, Any] = {}
    code = compile(ast.Module([statement], []), str(module.__file__), "exec")
    exec(code, vars(module), found)
    for name, value in found.items():
        before = vars(holder).get(name)
        setattr(holder, name, value)
        if not within:
            _assign_where_imported(name, before, value)


def _assign_where_imported(name: str, before: Any, value: Any) -> None:
    for module in list(sys.modules.values()):
        if vars(module).get(name) is before:
            setattr(module, name, value)
