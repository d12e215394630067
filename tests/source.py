"""The package's own source, for tests about how it is built."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "poppy_operations"


@dataclass(frozen=True)
class Module:
    """One file of the package, read but never imported."""

    path: str
    text: str
    tree: ast.Module

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Everything in it, walked once."""
        return tuple(ast.walk(self.tree))

    @property
    def part(self) -> str:
        """The package's direct member that the file belongs to, "gate" or "models"."""
        return Path(self.path).parts[1].removesuffix(".py")

    @property
    def name(self) -> str:
        """The file's own name, or its folder's for an ``__init__``."""
        path = Path(self.path)
        return path.parent.name if path.stem == "__init__" else path.stem


@cache
def modules() -> tuple[Module, ...]:
    """Give every module of the package but the migrations, which Django writes; read once."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if "migrations" not in path.parts:
            text = path.read_text("utf-8")
            found.append(Module(path.relative_to(ROOT).as_posix(), text, ast.parse(text)))
    return tuple(found)


def module_of(text: str, path: str = "poppy_operations/gate/steps.py") -> Module:
    """Give a module for a test of these rules themselves."""
    return Module(path, text, ast.parse(text))


def project() -> dict[str, Any]:
    """Give what ``pyproject.toml`` says."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def calls(module: Module) -> Iterator[ast.Call]:
    """Give every call of the module."""
    return (node for node in module.nodes if isinstance(node, ast.Call))


def imported(module: Module) -> Iterator[tuple[str, int]]:
    """Give the full dotted name of everything that the module imports, and the line."""
    for node in module.nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


def last_name(node: ast.expr) -> str:
    """Give the last name of ``a.b.c``, or of what is called in ``a.b.c()``."""
    if isinstance(node, ast.Call):
        return last_name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
