"""Finds writes to the database in source, and whose rows they write.

Every model has one part of the package that writes it. Python does not tell a model from a form by
its looks, so the search goes by names: a method that writes, called on something that leads to a
model by its name, by a relation of it, by an annotation, or by a variable bound to one of these.
A write to something unknown is allowed only where some model is written at all.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from tests.source import Module, calls, last_name

LIFECYCLE = ("Operation", "Revision", "Approval", "Decline", "Performance", "Settlement")
WRITER = {"Agent": "sessions", "Join": "browser", **dict.fromkeys(LIFECYCLE, "lifecycle")}
RELATIONS = {
    "approvals": "Approval",
    "declines": "Decline",
    "joins": "Join",
    "performance": "Performance",
    "record": "Approval",
    "revisions": "Revision",
    "settlements": "Settlement",
}
# Without positional arguments these write rows; with them they belong to dicts, digests and files.
WITHOUT_POSITIONAL = {
    f"{prefix}{name}"
    for prefix in ("", "a")
    for name in ("create", "delete", "get_or_create", "save", "update", "update_or_create")
}
ALWAYS = {f"{prefix}{name}" for prefix in ("", "a") for name in ("bulk_create", "bulk_update")}
ON_RELATIONS = {
    f"{prefix}{name}" for prefix in ("", "a") for name in ("add", "clear", "remove", "set")
}
RAW = {"cursor", "raw", "save_base", "_raw_delete"}
# Ask a server how it is set up, which no model knows, or run the statements that others own.
ASKING = {
    "poppy_operations/checks/characters.py",
    "poppy_operations/checks/durability.py",
    "poppy_operations/models/databases.py",
    "poppy_operations/models/statements.py",
}
# What stores a row for its owner.
INSERTING = "poppy_operations/models/inserting.py"
# What owns a statement that writes: the rows are its first argument.
OWNING = {"Change", "insert"}
NOT_ROWS = {"form", "serializer", "session", "super"}


def misplaced_writes(module: Module) -> list[str]:
    """Name every write of rows that belong to another part of the package."""
    bindings = _Bindings(module)
    found = []
    for call in calls(module):
        rows = _written_by(call, module)
        if rows is not None:
            written = bindings.models(rows)
            allowed = {WRITER[model] for model in written} or set(WRITER.values())
            if allowed - {module.part} if written else module.part not in allowed:
                names = ", ".join(sorted(written)) or "something"
                found.append(f"{module.path}:{call.lineno}: {last_name(call.func)} writes {names}")
    return found


def _written_by(call: ast.Call, module: Module) -> ast.expr | None:
    """What a call writes, if it writes."""
    function = call.func
    if module.path == INSERTING:
        return None
    if isinstance(function, ast.Name) and function.id in OWNING and call.args:
        return call.args[0]
    if isinstance(function, ast.Attribute) and _writes(call, function, module):
        return function.value
    return None


def _writes(call: ast.Call, function: ast.Attribute, module: Module) -> bool:
    name, receiver = function.attr, last_name(function.value)
    if name == "cursor" and module.path in ASKING:
        return False
    if name in RAW or name in ALWAYS:
        return True
    if name in ON_RELATIONS:
        return receiver in RELATIONS
    if name in {"update", "aupdate"} and not call.keywords:
        return False  # a queryset's takes keywords only
    return name in WITHOUT_POSITIONAL and not call.args and receiver not in NOT_ROWS


class _Bindings:
    """Which models the names of a module lead to. Scopes are merged: names are used alike."""

    def __init__(self, module: Module) -> None:
        self.names: dict[str, set[str]] = defaultdict(set)
        for node in module.nodes:
            if isinstance(node, ast.ImportFrom) and node.module == "poppy_operations.models":
                for alias in node.names:
                    self.names[alias.asname or alias.name] |= {alias.name} & WRITER.keys()
        pairs = list(_bound(module))
        before = -1
        while before != (before := sum(map(len, self.names.values()))):
            for name, value in pairs:
                self.names[name] |= self.models(value)

    def models(self, node: ast.expr | None) -> set[str]:
        """Give the models that an expression leads to, by its chain and not by its arguments."""
        if isinstance(node, ast.Name):
            return set(self.names.get(node.id, ()))
        if isinstance(node, ast.Attribute):
            if node.attr in RELATIONS:
                return {RELATIONS[node.attr]}
            if node.attr in WRITER:
                return {node.attr}
            return self.models(node.value)
        if isinstance(node, ast.Call):
            builtin = isinstance(node.func, ast.Name) and node.args
            return self.models(node.func) | (self.models(node.args[0]) if builtin else set())
        if isinstance(node, ast.Subscript | ast.Await | ast.Starred):
            return self.models(node.value)
        if isinstance(node, ast.BinOp):  # Operation | None
            return self.models(node.left) | self.models(node.right)
        return set()


def _bound(module: Module) -> Iterator[tuple[str, ast.expr]]:
    """Give each name with the expression that it is bound to or annotated with."""
    for node in module.nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _each_name(target, node.value)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            yield from _each_name(node.target, node.iter)
        elif isinstance(node, ast.NamedExpr):
            yield node.target.id, node.value
        elif isinstance(node, ast.arg) and node.annotation is not None:
            yield node.arg, node.annotation
        elif isinstance(node, ast.AnnAssign):
            yield from _each_name(node.target, node.annotation)


def _each_name(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
        return
    for node in ast.walk(target):
        if isinstance(node, ast.Name):
            yield node.id, value
