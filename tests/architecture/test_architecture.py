"""How the package is built: what no linter knows, read from its source."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from tests.source import Module, calls, imported, last_name, module_of, modules, project
from tests.writes import misplaced_writes

LINES = 300
JUNK_DRAWERS = re.compile(r"^_?(utils?|helpers?|base|common|services?|misc|managers?|tools)$")
FORBIDDEN_IMPORTS = {
    "django.contrib.auth.alogout": "flushes the Django session, and with it the agent's mark",
    "django.contrib.auth.logout": "flushes the Django session, and with it the agent's mark",
    "django.core.cache": "a cache forgets, and what we remember must not be forgotten",
    "dill": "unpickling runs code",
    "marshal": "not a format to keep",
    "pickle": "unpickling runs code",
    "shelve": "unpickling runs code",
}
CHECK_ID = re.compile(r"poppy_operations\.[EWI]\d{3}")
MESSAGES = {"CheckMessage", "Critical", "Debug", "Error", "Info", "Warning"}


def all_of(rule: Callable[[Module], Iterator[str]]) -> str:
    return "\n".join(line for module in modules() for line in rule(module))


def too_long(module: Module) -> Iterator[str]:
    lines = sum(bool(line.strip()) for line in module.text.splitlines())
    if lines > LINES:
        yield f"{module.path}: {lines} lines that are not blank"


def junk_drawer(module: Module) -> Iterator[str]:
    if JUNK_DRAWERS.match(module.name):
        yield f"{module.path}: a name that says nothing about what is in it"


def forbidden_import(module: Module) -> Iterator[str]:
    for name, line in imported(module):
        for forbidden, reason in FORBIDDEN_IMPORTS.items():
            if name == forbidden or name.startswith(f"{forbidden}."):
                yield f"{module.path}:{line}: {name}: {reason}"


def row_lock(module: Module) -> Iterator[str]:
    # SQLite has none: what must hold is a conditional UPDATE or a unique constraint.
    for node in module.nodes:
        if isinstance(node, ast.Attribute) and node.attr == "select_for_update":
            yield f"{module.path}:{node.lineno}: select_for_update"


def conditional_constraint(module: Module) -> Iterator[str]:
    # MariaDB ignores them silently.
    for call in calls(module):
        conditional = any(keyword.arg == "condition" for keyword in call.keywords)
        if conditional and last_name(call.func).endswith(("Constraint", "Index")):
            yield f"{module.path}:{call.lineno}: condition= in {last_name(call.func)}"


def session_flush(module: Module) -> Iterator[str]:
    # It would begin a session without the mark that an agent's browser uses it.
    for call in calls(module):
        function = call.func
        if not isinstance(function, ast.Attribute) or function.attr not in {"flush", "aflush"}:
            continue
        if "session" in last_name(function.value).lower():
            yield f"{module.path}:{call.lineno}: {function.attr} of a session"


def misplaced_write(module: Module) -> Iterator[str]:
    yield from misplaced_writes(module)


RULES = [
    too_long,
    junk_drawer,
    forbidden_import,
    row_lock,
    conditional_constraint,
    session_flush,
    misplaced_write,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_module_keeps_the_rule(rule: Callable[[Module], Iterator[str]]) -> None:
    broken = all_of(rule)

    assert not broken, broken


MODELS = "from poppy_operations.models import Agent, Join, Operation, Performance as P\n"


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (too_long, "x = 1\n" * (LINES + 1)),
        (forbidden_import, "import pickle"),
        (forbidden_import, "from django.core.cache import cache"),
        (forbidden_import, "from django.core import cache"),
        (forbidden_import, "from django.contrib.auth import login, logout"),
        (row_lock, "rows.select_for_update()"),
        (conditional_constraint, "models.UniqueConstraint(fields=[], condition=Q())"),
        (conditional_constraint, "Index(fields=[], condition=Q())"),
        (session_flush, "request.session.flush()"),
        (session_flush, "await session.aflush()"),
        (misplaced_write, f"{MODELS}Operation.objects.filter(x=1).update(state='open')"),
        (misplaced_write, f"{MODELS}await P.objects.using(using).acreate(status=1)"),
        (misplaced_write, f"{MODELS}def f(row: Operation | None): row.save()"),
        (misplaced_write, f"{MODELS}for row in list(Join.objects.all()): row.delete()"),
        (misplaced_write, "operation.declines.create(rule='x')"),
        (misplaced_write, "operation.revisions.clear()"),
        (misplaced_write, "models.Operation.objects.bulk_create(rows)"),
        (misplaced_write, "rows.update(state='open')"),
        (misplaced_write, "obj.save(update_fields=['state'])"),
        (misplaced_write, "connection.cursor()"),
        (misplaced_write, f"{MODELS}insert(Operation(state='open'))"),
        (misplaced_write, f"{MODELS}Changing(lambda: Change(Operation.objects.all(), {{}}))"),
    ],
)
def test_a_broken_rule_is_noticed(rule: Callable[[Module], Iterator[str]], source: str) -> None:
    assert list(rule(module_of(source)))


def test_a_module_that_is_a_junk_drawer_is_noticed() -> None:
    for path in ("poppy_operations/utils.py", "poppy_operations/gate/common/__init__.py"):
        assert list(junk_drawer(module_of("", path)))


@pytest.mark.parametrize(
    ("source", "path"),
    [
        (f"{MODELS}Operation.objects.update(x=1)", "poppy_operations/lifecycle/asking.py"),
        (f"{MODELS}Agent.objects.create(x=1)", "poppy_operations/sessions/agents.py"),
        (f"{MODELS}row = Join()\nrow.save()", "poppy_operations/browser/joins.py"),
        ("names.update(other)\ndigest.update(b'')\nd.update({}, x=1)", "poppy_operations/conf.py"),
        ("request.session.save()\nform.save()\nsuper().save()", "poppy_operations/conf.py"),
        ("self.stdout.flush()\nseen.add(1)", "poppy_operations/conf.py"),
        ("connection.cursor()", "poppy_operations/checks/durability.py"),
        ("connection.cursor()", "poppy_operations/models/statements.py"),
        (f"{MODELS}insert(Operation())", "poppy_operations/lifecycle/asking.py"),
        ("row.save(using=alias, force_insert=True)", "poppy_operations/models/inserting.py"),
    ],
)
def test_what_is_allowed_is_not_blamed(source: str, path: str) -> None:
    module = module_of(source, path)

    assert not [line for rule in RULES for line in rule(module)]


@pytest.mark.parametrize(
    ("source", "path"),
    [
        (f"{MODELS}Operation.objects.update(x=1)", "poppy_operations/sessions/agents.py"),
        (f"{MODELS}Agent.objects.create(x=1)", "poppy_operations/lifecycle/asking.py"),
        (f"{MODELS}(row := Join()).save()\nrow.save()", "poppy_operations/lifecycle/asking.py"),
        (f"{MODELS}insert(Agent())", "poppy_operations/lifecycle/asking.py"),
    ],
)
def test_a_part_that_writes_writes_only_its_own_rows(source: str, path: str) -> None:
    assert misplaced_writes(module_of(source, path))


def test_every_part_of_the_package_has_a_layer() -> None:
    contract = project()["tool"]["importlinter"]["contracts"][0]
    layers = {part.strip(" ()") for layer in contract["layers"] for part in re.split("[|:]", layer)}
    required = {
        part.strip()
        for layer in contract["layers"]
        for part in re.split("[|:]", layer)
        if "(" not in part
    }
    parts = {module.part for module in modules()} - {"__init__"}

    assert contract["exhaustive"] is True
    assert parts <= layers | set(contract["exhaustive_ignores"])
    assert required <= parts, "a layer without a module: write it in brackets until there is one"


def check_messages() -> list[tuple[str, set[str], str]]:
    """The id, the keywords and the place of every message of a system check."""
    found = []
    for module in modules():
        for call in calls(module):
            keywords = {keyword.arg: keyword.value for keyword in call.keywords}
            if module.part == "checks" and last_name(call.func) in MESSAGES:
                value = keywords.get("id")
                name = str(value.value) if isinstance(value, ast.Constant) else ""
                found.append((name, {str(key) for key in keywords}, f"{module.path}:{call.lineno}"))
    return found


def test_every_check_has_an_id_of_its_own_and_a_hint() -> None:
    messages = check_messages()
    counted = Counter(name for name, _, _ in messages)

    assert not [place for name, _, place in messages if not CHECK_ID.fullmatch(name)]
    assert not [place for name, _, place in messages if counted[name] > 1]
    assert not [place for _, keywords, place in messages if "hint" not in keywords]
