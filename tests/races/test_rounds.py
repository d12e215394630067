"""Who meets at one operation makes it happen once, whatever the order of events (7)."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

import pytest
from django.db import connection

from tests.races import closing, kinds
from tests.races.together import Together

pytestmark = [
    pytest.mark.races,
    pytest.mark.usefixtures("db"),
    # The children of a process with threads only do what is theirs, and go.
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]
# In all; POPPY_RACE_ROUNDS says how many of each kind instead.
ROUNDS = {"postgresql": 500, "mysql": 60, "sqlite": 60}


@dataclass(frozen=True)
class Variant:
    """One kind of rounds, with effects of one kind and through one door."""

    effects: str
    door: str
    parties: int
    play: Callable[[Together, int, str, str], None]
    by: str = "threads"

    def __str__(self) -> str:
        return f"{self.play.__name__}-{self.door}-{self.effects}-{self.by}"


KINDS = {
    "the same approval": [
        Variant("database", "api", 32, kinds.same_approval),
        Variant("external", "website", 32, kinds.same_approval),
        Variant("database", "website", 32, kinds.same_approval_over_http),
        Variant("external", "api", 32, kinds.same_approval_over_http),
        Variant("external", "background", 16, kinds.same_approval_over_http),
        Variant("external", "api", 8, kinds.same_approval, "processes"),
        Variant("database", "website", 8, kinds.same_approval, "processes"),
    ],
    "two revisions": [
        Variant("database", "api", 8, kinds.two_revisions),
        Variant("external", "website", 8, kinds.two_revisions),
        Variant("external", "api", 8, kinds.two_revisions, "processes"),
        Variant("database", "website", 8, kinds.two_revisions, "processes"),
    ],
    "approval and expiry": [
        Variant("database", "api", 8, kinds.approval_and_expiry),
        Variant("external", "website", 8, kinds.approval_and_expiry),
    ],
    "approve and decline": [
        Variant("database", "api", 6, kinds.approve_and_decline),
        Variant("external", "website", 6, kinds.approve_and_decline),
    ],
    "settle and finish": [
        Variant("external", "api", 4, closing.settle_and_finish),
        Variant("external", "website", 4, closing.settle_and_finish),
        Variant("external", "api", 4, closing.reconcile_and_finish),
        Variant("external", "website", 4, closing.reconcile_and_finish),
    ],
    "purge and everything": [
        Variant("database", "api", 9, closing.purge_and_everything),
        Variant("external", "api", 9, closing.purge_and_everything),
        Variant("database", "website", 9, closing.purge_and_everything),
    ],
    "take-over and late finish": [
        Variant("database", "api", 5, kinds.takeover_and_late_finish),
        Variant("database", "website", 5, kinds.takeover_and_late_finish),
    ],
    "void and begin": [
        Variant("database", "website", 5, kinds.void_and_begin),
        Variant("external", "website", 5, kinds.void_and_begin),
    ],
}


def play(variant: Variant, rounds: int) -> None:
    """Play some rounds. Fails at the first one that goes wrong, and says which it was."""
    with Together(variant.parties, variant.by) as together:
        for number in range(rounds):
            try:
                variant.play(together, number, variant.effects, variant.door)
            except BaseException as failed:
                failed.add_note(f"In round {number} of {variant}.")
                raise


def rounds_of(kind: str) -> int:
    """How many rounds each variant of a kind plays on this database."""
    wanted = os.environ.get("POPPY_RACE_ROUNDS")
    of_the_kind = int(wanted) if wanted else ceil(ROUNDS[connection.vendor] / len(KINDS))
    return ceil(of_the_kind / len(KINDS[kind]))


@pytest.mark.parametrize(
    ("kind", "variant"),
    [
        pytest.param(kind, variant, id=str(variant))
        for kind, variants in KINDS.items()
        for variant in variants
    ],
)
def test_who_meets_makes_it_happen_once(kind: str, variant: Variant) -> None:
    play(variant, rounds_of(kind))
