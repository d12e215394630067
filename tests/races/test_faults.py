"""The rounds find the faults that they are there for: each guard is taken away, and missed (7)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.models import F, QuerySet

from poppy_operations.lifecycle import approving, claims, finishing
from poppy_operations.models import Operation
from poppy_operations.models.databases import write_alias
from poppy_operations.models.statements import Change, Changing, given
from tests.crash.site import stores
from tests.races import kinds
from tests.races.test_rounds import Variant, play

pytestmark = [
    pytest.mark.races,
    pytest.mark.usefixtures("db"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]
# The statements that move an operation on from a state.
GUARDED: dict[str, list[tuple[Any, str]]] = {
    Operation.State.OPEN: [(claims, "_CLAIM")],
    Operation.State.PERFORMING: [(claims, "_HOLD"), (finishing, "_FINISH")],
}
ENOUGH = 60  # rounds; most faults show in the first three


def without_condition(monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    """Let what moves an operation on from a state do so from any, whoever has the claim."""

    class Unconditional(QuerySet[Operation]):
        def filter(self, *args: Any, **conditions: Any) -> Any:
            return self if conditions.get("state") == state else super().filter(*args, **conditions)

    def operations(operation: Operation) -> Any:
        return Unconditional(Operation, using=write_alias()).filter(pk=operation.pk)

    monkeypatch.setattr(claims, "rows_of", operations)
    for module, name in GUARDED[state]:
        monkeypatch.setattr(module, name, _of_any_attempt(getattr(module, name)))


def _of_any_attempt(guarded: Changing) -> Changing:
    """The same change of an operation, whatever state it is in and whoever has the claim."""

    def change(*shape: Any) -> Change:
        row = Operation.objects.filter(id=given(Operation, "id"))
        return Change(row, guarded.change(*shape).changes)

    return Changing(change)


@pytest.mark.parametrize(
    "variant",
    [
        Variant("external", "api", 32, kinds.same_approval),
        Variant("external", "website", 32, kinds.same_approval),
        Variant("external", "website", 32, kinds.same_approval_over_http),
        Variant("external", "api", 8, kinds.same_approval, "processes"),
        Variant("external", "api", 8, kinds.two_revisions),
    ],
    ids=str,
)
def test_an_action_that_is_not_claimed_is_found_to_happen_twice(
    variant: Variant, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(stores, "folder", tmp_path)
    without_condition(monkeypatch, Operation.State.OPEN)
    with pytest.raises(AssertionError):
        play(variant, ENOUGH)
    assert max(Counter(stores.outside.path.read_text().splitlines()).values()) > 1


@pytest.mark.parametrize("door", ["api", "website"])
def test_an_attempt_that_ends_though_it_was_taken_over_is_found(
    door: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("nobody takes over while the action holds SQLite's one lock")
    without_condition(monkeypatch, Operation.State.PERFORMING)
    with pytest.raises(AssertionError):
        play(Variant("database", door, 5, kinds.takeover_and_late_finish), ENOUGH)


@pytest.mark.parametrize(
    "variant",
    [
        Variant("external", "website", 5, kinds.void_and_begin),
        Variant("database", "api", 6, kinds.approve_and_decline),
    ],
    ids=str,
)
def test_what_leaves_the_attempt_to_others_that_have_read_it_is_found(
    variant: Variant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approving, "new_attempt", lambda: F("attempt"))
    with pytest.raises(AssertionError):
        play(variant, ENOUGH)
