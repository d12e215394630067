"""Who has opened the transaction around a gated view: a middleware, or a decorator."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from types import CodeType, FrameType

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS
from django.db.transaction import Atomic
from django.utils.module_loading import import_string

from poppy_operations.models.databases import write_alias

REVERSION = "reversion.middleware.RevisionMiddleware"
_NEVER = frozenset({"django", __name__.partition(".")[0]})


def opened_by() -> str:
    """Say who opens the transaction around the code that asks, as far as it can be told."""
    middleware = opening_middleware()
    if middleware:
        return f"{middleware[0]} in MIDDLEWARE opens it around every request."
    function = _decorated_function()
    if function is not None:
        return f"It is around {function}."
    suspected = [path for path, found in _sites_middleware() if _names_atomic(found)]
    if suspected:
        return f"In MIDDLEWARE, {', '.join(suspected)} may open it around every request."
    return ""


def opening_middleware() -> list[str]:
    """The middleware that opens a transaction around every request, on the database of our rows."""
    return [path for path, found in _sites_middleware() if _is_reversions(found) and _opens(found)]


def _sites_middleware() -> Iterator[tuple[str, object]]:
    for path in settings.MIDDLEWARE:
        if path.partition(".")[0] not in _NEVER:
            try:
                yield path, import_string(path)
            except ImportError:
                continue  # Django says so itself, when it loads them.


def _is_reversions(middleware: object) -> bool:
    """Whether it is django-reversion's, or derived from it."""
    bases = middleware.__mro__ if isinstance(middleware, type) else ()
    return any(f"{base.__module__}.{base.__qualname__}" == REVERSION for base in bases)


def _opens(middleware: object) -> bool:
    alias = getattr(middleware, "using", None) or DEFAULT_DB_ALIAS
    return bool(getattr(middleware, "atomic", True)) and alias == write_alias()


def _names_atomic(middleware: object) -> bool:
    functions = vars(middleware).values() if isinstance(middleware, type) else [middleware]
    codes = (getattr(inspect.unwrap(one), "__code__", None) for one in functions if callable(one))
    return any(_has_atomic(code) for code in codes if code is not None)


def _has_atomic(code: CodeType) -> bool:
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return "atomic" in code.co_names or any(map(_has_atomic, inner))


def _decorated_function() -> str | None:
    """The outermost function on the stack that ``transaction.atomic`` decorates."""
    found = None
    frame: FrameType | None = sys._getframe()  # noqa: SLF001  its documented name
    while frame is not None:
        held = frame.f_locals
        if frame.f_code.co_name == "inner" and isinstance(held.get("self"), Atomic):
            function = held.get("func")
            found = f"{function.__module__}.{function.__qualname__}" if function else found
        frame = frame.f_back
    return found
