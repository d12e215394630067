"""Names that are imported when they are first used, since an app is imported before its models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names_from(module: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a module whose names are defined in other modules: ``homes``."""

    def find(name: str) -> Any:
        if name not in homes:
            message = f"module {module!r} has no attribute {name!r}"
            raise AttributeError(message)
        return getattr(import_module(f"poppy_operations.{homes[name]}"), name)

    return find
