"""A name has one meaning, a module fits on a few pages, and interfaces are compared nowhere."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

from poppy_operations.protocol.interfaces import INTERFACES

PACKAGE = Path("poppy_operations")
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "migrations" not in path.parts)
LONGEST = 300
MEDIAN = 100
# Defined in more than one module, with one meaning.
SHARED = {
    "Command": "Django's name for a management command",
    "Decline": "what a policy decides, and the row that keeps it",
    "decline": "the same",
    "logger": "the package's one logger",
    "__all__": "Python's own name",
    "__getattr__": "the same",
    "_HOMES": "where the names are that a package imports late",
    "perform": "a task of that function",
    "purge": "a task of that function",
    "reconcile": "a task of that function",
    "requeue": "a task of that function",
    "perform_attempt": "a task of that function",
    "enqueue": "a task of that function",
    "C": "a type variable",
    "F": "a type variable",
    "P": "a type variable",
    "R": "a type variable",
    "T": "a type variable",
}


def defined(path: Path) -> Iterator[str]:
    """The names that a module defines, for others and for itself."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def test_a_name_of_a_module_has_one_meaning() -> None:
    """Names that begin with an underscore too: who reads two modules meets them both."""
    homes: dict[str, set[Path]] = defaultdict(set)
    for path in MODULES:
        for name in defined(path):
            homes[name].add(path)
    shared = {name: sorted(map(str, paths)) for name, paths in homes.items() if len(paths) > 1}
    assert {name: paths for name, paths in shared.items() if name not in SHARED} == {}


def test_only_a_request_is_refused() -> None:
    """Misuse is rejected, a ticket is bad, terms are unrepresentable: each has its own word."""
    found = {
        node.name
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if "refus" in node.name.lower()
    }
    assert found == {"Refusal", "SessionRefused", "refusal"}


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_a_module_fits_on_a_few_pages(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= LONGEST


def test_half_of_the_modules_fit_on_one_page() -> None:
    assert median(len(path.read_text("utf-8").splitlines()) for path in MODULES) <= MEDIAN


@pytest.mark.parametrize("path", sorted((PACKAGE / "gate").rglob("*.py")), ids=str)
def test_the_gate_knows_no_request_and_no_response_of_django(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert not (node.module or "").startswith(("django.http", "rest_framework"))
        if isinstance(node, ast.Import):
            assert not any(one.name.startswith("django.http") for one in node.names)


def compared_names(text: str) -> Iterator[int]:
    """The lines that compare something with the name of an interface."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare):
            for part in (node.left, *node.comparators):
                names = part.elts if isinstance(part, ast.Tuple | ast.List | ast.Set) else [part]
                if any(_is_name(name) for name in names):
                    yield node.lineno


def _is_name(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return node.value in INTERFACES
    return isinstance(node, ast.Attribute) and ast.unparse(node.value).endswith("Interface")


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_what_differs_between_interfaces_is_asked_of_the_table(path: Path) -> None:
    assert list(compared_names(path.read_text("utf-8"))) == []


@pytest.mark.parametrize(
    "text",
    [
        "x.interface == Operation.Interface.WEBSITE",
        'x.interface != "review"',
        'x.interface in {"mcp", "api"}',
    ],
)
def test_a_comparison_with_the_name_of_an_interface_is_found(text: str) -> None:
    assert list(compared_names(text)) == [1]
