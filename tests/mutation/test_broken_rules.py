"""The table of broken rules is complete and applies; ``make rules`` is what tries it."""

from __future__ import annotations

import sys
from collections import Counter
from types import ModuleType
from typing import Any

import pytest

from tests.conformance.audit import audit
from tests.conformance.claims import ROOT, scan
from tests.conformance.ledger import ledger
from tests.mutation import rules as command
from tests.mutation.breaking import CannotBreak, break_module, check_breakable
from tests.mutation.broken_rules import TABLE, BrokenRule, read_rules, without_a_rule
from tests.mutation.trying_rules import Noticed

LINES = 300
SHORTEST_REASON = 20


def test_each_row_changes_what_is_there_once_and_can_be_changed() -> None:
    problems = []
    for rule in read_rules():
        try:
            check_breakable(*rule.sources())
        except (ValueError, SyntaxError) as error:
            problems.append(f"{rule.name}: {error}")

    assert not problems, "\n".join(problems)


def test_each_row_says_what_it_breaks_and_where_that_is_tested() -> None:
    rows = read_rules()
    known = ledger().ids

    assert not [row.name for row in rows if bool(row.ids) == bool(row.says)]
    assert not [row.name for row in rows if not set(row.ids) <= known]
    assert not [row.name for row in rows if not (ROOT / row.folder).is_dir()]
    assert not [row.name for row in rows if row.old == row.new]
    assert not [row.name for row in rows if 0 < len(row.explained) < SHORTEST_REASON]


def test_no_row_is_there_twice() -> None:
    counted = Counter((row.path, row.old, row.new) for row in read_rules())

    assert not [key for key, count in counted.items() if count > 1]


def test_each_claim_has_a_row_that_breaks_it_or_a_reason_why_not() -> None:
    claimed = set(audit(ledger(), scan()).shown_by)
    broken = {name for row in read_rules() for name in row.ids}
    reasons = without_a_rule()

    assert sorted(claimed - broken - set(reasons)) == [], "no row, and no reason why"
    assert sorted(broken - claimed) == [], "a row, and no test that claims it"
    assert sorted(set(reasons) & broken) == [], "a row, and a reason why there is none"
    assert sorted(set(reasons) - claimed) == [], "a reason, and no test that claims it"
    assert not [name for name, reason in reasons.items() if len(reason) < SHORTEST_REASON]


def test_the_tables_files_are_short() -> None:
    lengths = {path.name: len(path.read_text("utf-8").splitlines()) for path in TABLE.iterdir()}

    assert not {name: length for name, length in lengths.items() if length > LINES}


def test_a_row_whose_text_is_gone_is_a_problem() -> None:
    row = read_rules()[0]
    gone = BrokenRule(**{**vars(row), "old": "no such text"})

    with pytest.raises(ValueError, match="is 0 times in"):
        gone.sources()


BEFORE = """
LIMIT = 1
HALF = LIMIT / 2

def plain():
    return "before"

def maker():
    def inner():
        return "inside before"
    return inner

class Holder:
    limit = 1

    def method(self):
        return LIMIT

made = maker()
"""


@pytest.fixture
def module(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    path = tmp_path / "a_module.py"
    path.write_text(BEFORE)
    found = ModuleType("a_module")
    found.__file__ = str(path)
    exec(compile(BEFORE, str(path), "exec"), vars(found))
    importer = ModuleType("an_importer")
    vars(importer).update(LIMIT=vars(found)["LIMIT"], plain=vars(found)["plain"])
    monkeypatch.setitem(sys.modules, "a_module", found)
    monkeypatch.setitem(sys.modules, "an_importer", importer)
    return found


@pytest.mark.parametrize(
    ("old", "new", "shown", "expected"),
    [
        ('return "before"', 'return "after"', "plain()", "after"),
        ('"inside before"', '"inside after"', "made()", "inside after"),
        ("return LIMIT", "return 7", "Holder().method()", 7),
        ("    limit = 1", "    limit = 2", "Holder.limit", 2),
        ("LIMIT = 1", "LIMIT = 3", "Holder().method()", 3),
        ("LIMIT = 1", "LIMIT = 3", "HALF", 1.5),
    ],
)
def test_a_loaded_module_is_broken_for_whoever_holds_a_part_of_it(
    module: ModuleType, old: str, new: str, shown: str, expected: object
) -> None:
    assert eval(shown, vars(module)) != expected

    break_module("a_module", BEFORE, BEFORE.replace(old, new, 1))

    importer = vars(sys.modules["an_importer"])
    assert eval(shown, vars(module)) == expected
    assert importer["LIMIT"] == module.LIMIT
    assert importer["plain"]() == module.plain()


def test_a_change_of_nothing_that_is_loaded_is_refused(module: ModuleType) -> None:
    moved_on = BEFORE.replace("LIMIT / 2", "LIMIT / 2\n\n")

    with pytest.raises(CannotBreak, match="nothing that is loaded"):
        break_module("a_module", moved_on, moved_on.replace('"before"', '"after"', 1))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def plain():", "def plain(more=1):"),
        ("class Holder:", "class Holder(dict):"),
        ("made = maker()", "made = maker()\nmore = 1"),
        ("made = maker()", "made = lambda: maker()"),
    ],
)
def test_what_cannot_be_changed_in_a_loaded_module_is_refused(old: str, new: str) -> None:
    with pytest.raises(CannotBreak):
        check_breakable(BEFORE, BEFORE.replace(old, new))


def _row(number: int, *, explained: str = "") -> BrokenRule:
    return BrokenRule(
        where=f"file {number}",
        path="",
        ids=("A", "B"),
        says="",
        old="",
        new="",
        folder="tests/x",
        explained=explained,
    )


def _noticed(number: int, a: str | None, b: str | None, folder: str | None) -> Noticed:
    return Noticed(_row(number).name, {"A": a, "B": b}, folder)


@pytest.mark.parametrize(
    ("noticed", "status", "said"),
    [
        (_noticed(1, "one", "two", "one"), 0, "2 of 2 claims were noticed by a test that makes"),
        (_noticed(1, "one", None, "three"), 1, "not noticed by B, but by three"),
        (_noticed(1, None, None, None), 1, "not noticed by A, B, but by nobody"),
        (_noticed(1, "one", "two", None), 1, "not noticed in tests/x, but by one"),
    ],
)
def test_the_report_says_who_has_not_noticed(
    noticed: Noticed, status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.say([_row(1)], {noticed.rule: noticed}) == status
    assert said in capsys.readouterr().out


def test_what_is_explained_is_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    row = _row(1, explained="Nothing can notice it.")
    others = [_row(number) for number in range(2, 22)]
    fine = {row.name: _noticed(n, "one", "two", "one") for n, row in enumerate(others, 2)}
    came = {**fine, row.name: _noticed(1, None, None, None)}

    assert command.say([row, *others], came) == 0
    assert "Nothing can notice it." in capsys.readouterr().out
