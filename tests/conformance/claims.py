"""Who claims what, read from the source of the tests without running or importing them.

Reading the source takes a fraction of a second and sees every claim, whichever part of the suite is
being run and whatever is installed. The price: marks must be written where the scan can see them,
as a decorator of a test or of its class, inside ``parametrize`` of one, or in ``pytestmark``, and
their ids must be plain strings. Anything else is a problem that the scan reports.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SEARCHED = ("tests", "example_project")
KINDS = frozenset({"requirement", "ambiguity"})
NEVER_RUN = frozenset({"skip", "xfail"})


@dataclass(frozen=True)
class Claim:
    """One id that one test claims to show."""

    id: str
    kind: str
    path: str
    test: str

    @property
    def where(self) -> str:
        """The test's node id."""
        return f"{self.path}::{self.test}"


@dataclass
class Scan:
    """What was found in the source of tests."""

    claims: list[Claim] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def scan(root: Path = ROOT) -> Scan:
    """Read every test module below ``root``'s folders of tests."""
    found = Scan()
    for folder in SEARCHED:
        for path in sorted((root / folder).rglob("test_*.py")):
            scan_source(path.read_text("utf-8"), path.relative_to(root).as_posix(), found)
    return found


def scan_source(source: str, path: str, found: Scan) -> None:
    """Add the claims and problems of one module to ``found``."""
    if not any(kind in source for kind in KINDS):
        return
    tree = ast.parse(source, path)
    module_marks = _pytestmark(tree.body)
    seen: set[ast.Call] = set(_named(module_marks, KINDS))
    for name, marks in _tests(tree.body, module_marks, ""):
        seen.update(_named(marks, KINDS))
        _claim(path, name, marks, found)
    for call in _named([tree], KINDS):
        if call not in seen:
            found.problems.append(f"{path}:{call.lineno}: no test can be seen to have this mark")


def _claim(path: str, name: str, marks: list[ast.expr], found: Scan) -> None:
    calls = list(_named(marks, KINDS))
    if calls and _never_runs(marks):
        found.problems.append(f"{path}::{name}: a test that is skipped or may fail shows nothing")
        return
    for call in calls:
        assert isinstance(call.func, ast.Attribute)
        for argument in call.args:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                found.claims.append(Claim(argument.value, call.func.attr, path, name))
            else:
                found.problems.append(f"{path}:{call.lineno}: ids must be plain strings")


def _tests(
    body: Iterable[ast.stmt], outer: list[ast.expr], prefix: str
) -> Iterator[tuple[str, list[ast.expr]]]:
    """Give the name of every test, and the expressions that mark it."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("test_"):
                yield prefix + node.name, [*outer, *node.decorator_list]
        elif isinstance(node, ast.ClassDef):
            marks = [*outer, *node.decorator_list, *_pytestmark(node.body)]
            yield from _tests(node.body, marks, f"{prefix}{node.name}::")


def _pytestmark(body: Iterable[ast.stmt]) -> list[ast.expr]:
    """Give the value of ``pytestmark``, annotated or not, where the body assigns one."""
    values: list[ast.expr] = []
    for node in body:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        if any(isinstance(one, ast.Name) and one.id == "pytestmark" for one in targets):
            assert isinstance(node, ast.Assign | ast.AnnAssign)
            if node.value is not None:
                values.append(node.value)
    return values


def _named(nodes: Iterable[ast.AST], names: frozenset[str]) -> Iterator[ast.Call]:
    """Find the calls ``….mark.NAME(…)`` anywhere in the nodes."""
    for node in nodes:
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and _mark_name(call.func) in names:
                yield call


def _never_runs(marks: list[ast.expr]) -> bool:
    return any(_mark_name(node) in NEVER_RUN for mark in marks for node in ast.walk(mark))


def _mark_name(node: ast.AST) -> str:
    """Give NAME of an expression ``mark.NAME`` or ``pytest.mark.NAME``, else nothing."""
    if not isinstance(node, ast.Attribute):
        return ""
    holder = node.value
    is_mark = (isinstance(holder, ast.Attribute) and holder.attr == "mark") or (
        isinstance(holder, ast.Name) and holder.id == "mark"
    )
    return node.attr if is_mark else ""
