"""A pytest plugin that breaks each rule in a fork of one run, and asks who notices.

First the tests that claim what is broken, for each id until one of them fails; then, if none of
those is in the folder about the changed file, that folder; then, where nobody has noticed yet and
it is asked for, all other tests.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.claims import Claim, scan
from tests.mutation.breaking import break_module
from tests.mutation.broken_rules import BrokenRule, read_rules
from tests.mutation.forking import FAULT, SURVIVED, Children, elsewhere, items_by_test, run, warm_up

PLAN = "POPPY_RULES_PLAN"  # JSON of what ``tests.mutation.rules`` was asked for
OUTCOMES = "outcomes.jsonl"
EARLIER = "noticed_by.jsonl"
JUST_NOW = "just_now"
WHY = "fault"
LONGEST_TEST_S = 60


@dataclass
class Noticed:
    """What came of one broken rule: which test noticed it first, by whom it should be."""

    rule: str
    claimed: dict[str, str | None] = field(default_factory=dict)
    folder: str | None = None
    suite: str | None = None
    died: int | None = None


def read_outcomes(path: Path) -> dict[str, Noticed]:
    """Read what came of the rules that were broken; a line each, the last one counts."""
    if not path.exists():
        return {}
    rows = [Noticed(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]
    return {row.rule: row for row in rows}


def chosen(only: Sequence[str], who: str) -> list[BrokenRule]:
    """The rules whose name contains one of some texts; all rules if there are none."""
    rules = [rule for rule in read_rules() if rule.ids or who != "claims"]
    return [rule for rule in rules if not only or any(text in rule.name for text in only)]


def claimants(rule: BrokenRule) -> dict[str, list[str]]:
    """The tests that claim each id of a rule."""
    return {name: [one.where for one in _claims() if one.id == name] for name in rule.ids}


@cache
def _claims() -> list[Claim]:
    return scan().claims


def pytest_runtestloop(session: pytest.Session) -> bool:
    """Break the rules in the place of running the tests."""
    plan = json.loads(os.environ[PLAN])
    warm_up(session)
    notes = Notes(Path(plan["folder"]), read_outcomes(Path(plan["earlier"])))
    tried = read_outcomes(notes.folder / OUTCOMES)
    items = items_by_test(session.items)
    children = Children(notes.died)
    for rule in chosen(plan["only"], plan["who"]):
        if rule.name not in tried:
            claims = {
                name: [item for test in tests for item in items.get(test, ())]
                for name, tests in claimants(rule).items()
            }
            trial = Trial(session, rule, claims, notes, plan["who"])
            children.begin(rule.name, trial.work, most_at_once=1)
    children.end()
    return True


@dataclass(frozen=True)
class Notes:
    """What is noted of the trials, in a folder, and who noticed what in earlier runs."""

    folder: Path
    earlier: Mapping[str, Noticed]

    def write(self, noticed: Noticed) -> None:
        """Note what came of a rule."""
        with (self.folder / OUTCOMES).open("a") as file:
            file.write(json.dumps(asdict(noticed)) + "\n")

    def expect(self, noticed: Noticed) -> None:
        """Note what would have come of it, should the test that runs next kill the process."""
        (self.folder / JUST_NOW).write_text(json.dumps(asdict(noticed)), "utf-8")

    def died(self, name: str, code: int) -> None:
        """Note of a child that hung or was killed: whoever ran just then has noticed."""
        if code == SURVIVED:
            return
        if code == FAULT:
            message = f"{name} could not be tried. {(self.folder / WHY).read_text('utf-8')}"
            raise RuntimeError(message)
        noticed = Noticed(**json.loads((self.folder / JUST_NOW).read_text("utf-8")))
        assert noticed.rule == name, f"{name} died before it was tried."
        noticed.died = code
        self.write(noticed)


class Trial:
    """Runs tests while a rule is broken, in a child."""

    def __init__(
        self,
        session: pytest.Session,
        rule: BrokenRule,
        claims: Mapping[str, Sequence[Any]],
        notes: Notes,
        who: str,
    ) -> None:
        self._session = session
        self._rule = rule
        self._claims = claims
        self._notes = notes
        self._who = who
        self._noticed = Noticed(rule.name)
        self._earlier = notes.earlier.get(rule.name, self._noticed)
        self._known: dict[str, bool] = {}

    def work(self) -> int:
        """Break the rule, and ask who notices."""
        try:
            self._ask()
        except Exception:
            (self._notes.folder / WHY).write_text(traceback.format_exc(), "utf-8")
            raise
        return SURVIVED

    def _ask(self) -> None:
        self._session.config.pluginmanager.unregister(name="terminalreporter")
        self._notes.expect(self._noticed)
        gc.unfreeze()  # What a run of tests sets aside would not be found by whoever breaks it.
        break_module(self._rule.module, *self._rule.sources())
        for name, items in self._claims.items():
            hint = self._earlier.claimed.get(name)
            self._noticed.claimed[name] = self._first_to_fail(items, hint, "claimed", name)
        by_claims = [test for test in self._noticed.claimed.values() if test is not None]
        self._noticed.folder = next(filter(self._is_inside, by_claims), None)
        if self._noticed.folder is None and self._who != "claims":
            hint = self._earlier.folder
            self._noticed.folder = self._first_to_fail(self._inside(), hint, "folder")
        if self._who == "suite" and not by_claims and self._noticed.folder is None:
            hint, everywhere = self._earlier.suite, self._session.items
            self._noticed.suite = self._first_to_fail(everywhere, hint, "suite")
        self._notes.write(self._noticed)

    def _is_inside(self, test: str) -> bool:
        return test.startswith(f"{self._rule.folder}/")

    def _inside(self) -> list[Any]:
        """The tests of the folder, first those whose file has the name of what is changed."""
        items = [item for item in self._session.items if self._is_inside(item.nodeid)]
        return sorted(items, key=lambda item: self._rule.is_about not in item.path.name)

    def _first_to_fail(
        self, items: Iterable[Any], hint: str | None, kind: str, name: str = ""
    ) -> str | None:
        """Run tests until one fails, and name it. First the one that noticed before."""
        in_order = sorted(items, key=lambda item: item.get_closest_marker("slow") is not None)
        for item in sorted(in_order, key=lambda item: item.nodeid != hint):
            test: str = item.nodeid
            if test not in self._known:
                seen: Any = {**self._noticed.claimed, name: test} if name else test
                self._notes.expect(replace(self._noticed, **{kind: seen}))
                self._known[test] = self._fails(item)
            if self._known[test]:
                return test
        return None

    def _fails(self, item: Any) -> bool:
        before = self._session.testsfailed
        faulthandler.dump_traceback_later(LONGEST_TEST_S, exit=True)
        run(item, elsewhere(self._session, item))
        faulthandler.cancel_dump_traceback_later()
        return self._session.testsfailed > before
