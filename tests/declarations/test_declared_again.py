"""A module whose import failed declares again what it declared; two modules never share a name."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from types import ModuleType

import pytest

from poppy_operations import Action
from poppy_operations.declarations.registry import registry

NAMES = ("again.buy", "again.made", "again.thread")
OPERATIONS = """
from poppy_operations import Action
buy = Action("again.buy", effects="external")
"""
MAKER = """
from poppy_operations import Action
def make(name):
    return Action(name, effects="external")
"""
MADE = """
from again_maker import make
buy = make("again.made")
"""
POLICIES = """
from again_operations import buy
@buy.decline
def policy(operation, approval): ...
@buy.reconcile
def outcome(operation): ...
"""
FAILS = "\nraise LookupError('the first failure')\n"
Write = Callable[..., None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes a module, which can then be imported, however often it was before."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)

    def write(name: str, source: str) -> None:
        (tmp_path / f"{name}.py").write_text(source)
        importlib.invalidate_caches()

    yield write
    for name in set(sys.modules) - before:
        del sys.modules[name]
    for name in NAMES:
        action = registry.get(name)
        if action is not None:
            registry.discard(action)


def imported(name: str) -> ModuleType:
    return importlib.import_module(name)


@pytest.mark.parametrize(("source", "name"), [(OPERATIONS, "again.buy"), (MADE, "again.made")])
def test_a_module_that_fails_below_its_action_says_why_at_every_import(
    source: str, name: str, write: Write
) -> None:
    write("again_maker", MAKER)
    write("again_operations", source + FAILS)
    for _ in range(3):
        with pytest.raises(LookupError, match="the first failure"):
            imported("again_operations")

    write("again_operations", source)
    assert imported("again_operations").buy is registry.get(name)


def test_a_module_that_is_reloaded_declares_its_action_again(write: Write) -> None:
    write("again_operations", OPERATIONS)
    first = imported("again_operations").buy
    write("again_operations", "# The action stands on another line.\n" + OPERATIONS)
    second = importlib.reload(imported("again_operations")).buy

    assert registry.get("again.buy") is second is not first


def test_two_modules_do_not_declare_one_action(write: Write) -> None:
    write("again_operations", OPERATIONS)
    write("again_others", OPERATIONS)
    first = imported("again_operations").buy

    with pytest.raises(ValueError, match="declared by again_operations and by again_others"):
        imported("again_others")
    assert registry.get("again.buy") is first


def test_two_modules_do_not_declare_one_action_by_a_function_of_a_third(write: Write) -> None:
    write("again_maker", MAKER)
    write("again_operations", MADE)
    write("again_others", MADE)
    imported("again_operations")

    with pytest.raises(ValueError, match="declared by again_operations and by again_others"):
        imported("again_others")


def test_one_module_does_not_declare_an_action_twice(write: Write) -> None:
    write("again_operations", OPERATIONS + OPERATIONS)
    for _ in range(2):
        with pytest.raises(ValueError, match="by again_operations and by again_operations"):
            imported("again_operations")


def test_code_without_a_module_declares_once() -> None:
    exec(OPERATIONS, {})
    with pytest.raises(ValueError, match="declared by a script and by a script"):
        exec(OPERATIONS, {})
    action = registry.get("again.buy")
    assert action is not None
    registry.discard(action)


def test_a_thread_runs_no_module_of_its_own() -> None:
    raised = []

    def declare() -> None:
        try:
            Action("again.thread", effects="external")
        except ValueError as error:
            raised.append(error)

    for _ in range(2):
        thread = Thread(target=declare)
        thread.start()
        thread.join()
    action = registry.get("again.thread")
    assert action is not None
    registry.discard(action)
    assert len(raised) == 1


def test_a_module_of_hooks_that_failed_declares_them_again(write: Write) -> None:
    write("again_operations", OPERATIONS)
    write("again_policies", POLICIES + FAILS)
    for _ in range(2):
        with pytest.raises(LookupError, match="the first failure"):
            imported("again_policies")

    write("again_policies", POLICIES)
    policies = imported("again_policies")
    assert policies.buy.decline_hook is policies.policy
    assert policies.buy.reconcile_hook is policies.outcome


def test_two_modules_do_not_give_one_action_two_hooks(write: Write) -> None:
    write("again_operations", OPERATIONS)
    write("again_policies", POLICIES)
    write("again_others", POLICIES)
    policies = imported("again_policies")

    with pytest.raises(ValueError, match="has a decline hook already, declared by again_policies"):
        imported("again_others")
    assert policies.buy.decline_hook is policies.policy
