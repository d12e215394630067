"""A pytest plugin that breaks each rule in a fork of one run, and asks who notices.

First the tests that claim what is broken, for each id until one of them fails; then, if none of
those is in the folder about the changed file, that folder; then, where nobody has noticed yet and
it is asked for, all other tests.
"""

from __future__ import annotations

import faulthandler
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.claims import ROOT, Claim, scan
from tests.mutation.breaking import break_module
from tests.mutation.broken_rules import BrokenRule, read_rules
from tests.mutation.forking import Children, elsewhere, items_by_test, run, warm_up

PLAN = "POPPY_RULES_PLAN"  # JSON of what ``tests.mutation.rules`` was asked for
OUTCOMES = ROOT / "var" / "rules" / "outcomes.jsonl"
JUST_NOW = ROOT / "var" / "rules" / "just_now"
LONGEST_TEST_S = 60


@dataclass
class Noticed:
    """What came of one broken rule: which test noticed it first, by whom it should be."""

    rule: str
    claimed: dict[str, str | None] = field(default_factory=dict)
    folder: str | None = None
    suite: str | None = None
    died: int | None = None


def read_outcomes(path: Path = OUTCOMES) -> dict[str, Noticed]:
    """Read what came of the rules that were broken; a line each, the last one counts."""
    if not path.exists():
        return {}
    rows = [Noticed(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]
    return {row.rule: row for row in rows}


def chosen(only: Sequence[str]) -> list[BrokenRule]:
    """The rules whose name contains one of some texts; all rules if there are none."""
    rules = read_rules()
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
    tried = read_outcomes() if plan["again"] else {}
    items = items_by_test(session.items)
    children = Children(_ended)
    for rule in chosen(plan["only"]):
        if rule.name not in tried:
            claims = {
                name: [item for test in tests for item in items.get(test, ())]
                for name, tests in claimants(rule).items()
            }
            work = partial(_try, session, rule, claims, whole_suite=plan["suite"])
            children.begin(rule.name, work, most_at_once=1)
    children.end()
    return True


def _ended(name: str, code: int) -> None:
    if code != 0:
        # It hung, or its process died: whoever ran just then has noticed.
        noticed = Noticed(**json.loads(JUST_NOW.read_text("utf-8")))
        assert noticed.rule == name, f"{name} died before it was tried."
        noticed.died = code
        _write(noticed)


def _write(noticed: Noticed) -> None:
    with OUTCOMES.open("a") as file:
        file.write(json.dumps(asdict(noticed)) + "\n")


def _try(
    session: pytest.Session,
    rule: BrokenRule,
    claims: Mapping[str, Sequence[Any]],
    *,
    whole_suite: bool,
) -> int:
    session.config.pluginmanager.unregister(name="terminalreporter")
    noticed = Noticed(rule.name)
    trial = _Trial(session, noticed)
    trial.expect()
    break_module(rule.module, *rule.sources())
    for name, claiming in claims.items():
        noticed.claimed[name] = trial.first_to_fail(claiming, "claimed", name)
    by_claims = [test for test in noticed.claimed.values() if test is not None]
    inside = [test for test in by_claims if test.startswith(f"{rule.folder}/")]
    noticed.folder = inside[0] if inside else None
    if noticed.folder is None:
        here = [item for item in session.items if item.nodeid.startswith(f"{rule.folder}/")]
        here.sort(key=lambda item: rule.is_about not in item.path.name)
        noticed.folder = trial.first_to_fail(here, "folder")
    if whole_suite and not by_claims and noticed.folder is None:
        noticed.suite = trial.first_to_fail(session.items, "suite")
    _write(noticed)
    return 0


class _Trial:
    """Runs tests while a rule is broken."""

    def __init__(self, session: pytest.Session, noticed: Noticed) -> None:
        self._session = session
        self._noticed = noticed
        self._known: dict[str, bool] = {}

    def first_to_fail(self, items: Iterable[Any], kind: str, name: str = "") -> str | None:
        """Run tests until one fails, and name it."""
        for item in items:
            if item.nodeid not in self._known:
                self.expect(item.nodeid, kind, name)
                self._known[item.nodeid] = self._fails(item)
            if self._known[item.nodeid]:
                return str(item.nodeid)
        return None

    def expect(self, test: str = "", kind: str = "", name: str = "") -> None:
        """Note what is being tried, in case that the process dies of it."""
        if kind == "claimed":
            shown = {**asdict(self._noticed), "claimed": {**self._noticed.claimed, name: test}}
        else:
            shown = {**asdict(self._noticed), **({kind: test} if kind else {})}
        JUST_NOW.write_text(json.dumps(shown), "utf-8")

    def _fails(self, item: Any) -> bool:
        before = self._session.testsfailed
        faulthandler.dump_traceback_later(LONGEST_TEST_S, exit=True)
        run(item, elsewhere(self._session, item))
        faulthandler.cancel_dump_traceback_later()
        return self._session.testsfailed > before
