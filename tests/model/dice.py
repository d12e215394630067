"""What decides a step: one number that Hypothesis draws, and everything that follows from it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, TypeVar

from tests.model.facts import Run, Want

T = TypeVar("T")
SIMPLE = 2**16

WANTS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {},
    {"quantity": 2},
    {"note": "gift"},
    {"item": "b"},
    {"spelled": "0"},
    {"trace": "t1"},
)
ENDINGS = (
    "performed",
    "refused",
    "login",
    "marked",
    "not performed",
    "sold out",
    "error before",
    "error before",
    "error after",
    "killed before",
    "killed before",
    "killed before",
    "killed after",
    "killed at the end",
)
DOORS = ("web", "api")
HAPPENED = frozenset({"refused", "login", "error after", "killed after", "killed at the end"})
FOUND_OUT = frozenset({"outlive and settle", "outlive and reconcile"})
BETWEEN = ("dearer", "cheaper", "gone", "other", "void")
MEANWHILE = ("look", "outlive", "outlive and settle", "outlive and reconcile")


class Dice:
    """Decides as one number says, evenly, which Hypothesis's own strategies do not.

    Hypothesis likes simple numbers, so those say something else at every step.
    """

    def __init__(self, number: int, step: int) -> None:
        self._random = random.Random(number if number >= SIMPLE else f"{number}/{step}")

    def one_in(self, number: int) -> bool:
        """Say yes once in that many times."""
        return self._random.randrange(number) == 0

    def choose(self, among: Sequence[T]) -> T:
        """One of them."""
        return self._random.choice(among)

    def weighed(self, weights: dict[str, int]) -> str:
        """One of the names, as often as its weight says."""
        return self._random.choices(list(weights), list(weights.values()))[0]

    def order(self, among: Sequence[T]) -> list[T]:
        """All of them, in some order."""
        return self._random.sample(among, len(among))

    def want(self, actions: Sequence[str], door: str) -> Want:
        """A request, mostly at the door that is meant for whoever asks."""
        if self.one_in(5):
            door = self.choose(DOORS)
        first = {"action": self.choose(actions), "item": "a", "quantity": 1, "door": door}
        return Want(**{**first, **self.choose(WANTS)})

    def run(self) -> Run:
        """How the site's code goes: at times well."""
        if self.one_in(3):
            return Run()
        in_between = self.choose(BETWEEN) if self.one_in(4) else ""
        when = self.choose(("before", "after")) if self.one_in(4) else ""
        ending, what = self.choose(ENDINGS), self.choose(MEANWHILE)
        if when == "before" and what in FOUND_OUT and ending in HAPPENED:
            # It was found out that it cannot happen any more, so the outside refuses it now.
            ending = "not performed"
        return Run(ending, in_between, when, what)

    def approver(self) -> str:
        """Who approves, as stated."""
        return "agent" if self.one_in(3) else "user"
