"""The ledger is whole: every statement is shown by a test, or the list says why not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conformance import __main__ as command
from tests.conformance import plugin
from tests.conformance.audit import audit
from tests.conformance.claims import Scan, scan, scan_source
from tests.conformance.ledger import Ledger, ledger, read_ledger, without_claimed
from tests.conformance.page import figures_by_interface, is_current, render, write

SMALL_REQUIREMENTS = """
[[requirement]]
id = "OPS-1-01"
role = "company"
section = "1"
level = "MUST"
interfaces = ["all"]
statement = "It is done once | or never."

[[requirement]]
id = "AGT-1-01"
role = "agent"
section = "1"
level = "FACT"
interfaces = ["api"]
statement = "It asks."

[[ambiguity]]
id = "AMB-01"
section = "1"
point = "Once or twice?"
decision = "n <= 1."
"""


@pytest.fixture
def small_ledger(tmp_path: Path) -> Ledger:
    """A ledger of three rows: one free, one pending, one excluded."""
    requirements, pending = tmp_path / "requirements.toml", tmp_path / "pending.toml"
    requirements.write_text(SMALL_REQUIREMENTS, "utf-8")
    pending.write_text(
        '[pending]\n"AGT-1-01" = "Later."\n\n[excluded]\n"AMB-01" = "Not ours."\n', "utf-8"
    )
    return read_ledger(requirements, pending)


def scan_of(source: str) -> Scan:
    found = Scan()
    scan_source(source, "tests/test_x.py", found)
    return found


def test_every_statement_is_claimed_or_pending_or_excluded() -> None:
    problems = audit(ledger(), scan()).problems

    assert not problems, "\n".join(problems)


def test_the_ledger_is_complete() -> None:
    rows = ledger().requirements.values()

    assert sum(row.role == "company" for row in rows) == 269
    assert sum(row.role == "agent" for row in rows) == 63
    assert len(ledger().ambiguities) == 39


def test_an_id_given_twice_is_refused(tmp_path: Path, small_ledger: Ledger) -> None:
    requirements = tmp_path / "requirements.toml"
    requirements.write_text(SMALL_REQUIREMENTS.replace("AGT-1-01", "OPS-1-01"), "utf-8")

    with pytest.raises(ValueError, match=r"Given twice in requirements\.toml: OPS-1-01"):
        read_ledger(requirements, tmp_path / "pending.toml")


MARKED = """
import pytest
from pytest import mark

def test_plain(): ...

@pytest.mark.requirement("A", "B")
def test_function(): ...

@mark.ambiguity("C")
async def test_async(): ...

@pytest.mark.requirement("D")
class TestClass:
    pytestmark = [pytest.mark.requirement("E")]

    @pytest.mark.requirement("F")
    def test_method(self): ...

    def not_a_test(self): ...

@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.requirement("G"))])
def test_parameters(x): ...
"""


def test_the_scan_finds_marks_wherever_pytest_does() -> None:
    found = scan_of(MARKED)

    assert not found.problems
    assert {(claim.id, claim.test) for claim in found.claims} == {
        ("A", "test_function"),
        ("B", "test_function"),
        ("C", "test_async"),
        ("D", "TestClass::test_method"),
        ("E", "TestClass::test_method"),
        ("F", "TestClass::test_method"),
        ("G", "test_parameters"),
    }
    assert found.claims[0].where == "tests/test_x.py::test_function"


def test_the_mark_of_a_module_counts_for_all_its_tests() -> None:
    source = "pytestmark: object = pytest.mark.requirement('A')\nother: int\ndef test_one(): ...\n"

    assert [(claim.id, claim.test) for claim in scan_of(source).claims] == [("A", "test_one")]


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("M = pytest.mark.requirement('A')", "no test can be seen to have this mark"),
        ("@pytest.mark.requirement(A)\ndef test_one(): ...", "ids must be plain strings"),
        (
            "@pytest.mark.skip\n@pytest.mark.requirement('A')\ndef test_one(): ...",
            "skipped or may fail",
        ),
        (
            "@pytest.mark.xfail(strict=True)\n@pytest.mark.requirement('A')\ndef test_one(): ...",
            "skipped or may fail",
        ),
    ],
)
def test_a_claim_that_shows_nothing_is_a_problem(source: str, problem: str) -> None:
    found = scan_of(source)

    assert not found.claims
    assert problem in found.problems[0]


def test_pytestmark_may_be_declared_without_a_value() -> None:
    assert not scan_of("pytestmark: object\ndef test_one(): ...").claims


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("def test_one(): ...", "OPS-1-01: no test claims it, and it is neither"),
        ("@mark.requirement('OPS-1-01', 'OPS-9')\ndef test_one(): ...", "OPS-9 is not the id of"),
        (
            "@mark.ambiguity('OPS-1-01')\ndef test_ops_1_01(): ...",
            "OPS-1-01 is not the id of a known ambiguity",
        ),
        ("@mark.requirement('AGT-1-01')\ndef test_one(): ...", "AGT-1-01: a test claims it, and"),
        ("@mark.ambiguity('AMB-01')\ndef test_amb_01(): ...", "AMB-01: a test claims it, and it"),
        ("@mark.ambiguity('AMB-01')\ndef test_one(): ...", "must have amb_01 in its name"),
    ],
)
def test_the_audit_says_what_is_wrong(small_ledger: Ledger, source: str, problem: str) -> None:
    problems = audit(small_ledger, scan_of(source)).problems

    assert any(problem in one for one in problems), problems


def test_the_lists_name_only_known_ids_and_each_once(small_ledger: Ledger) -> None:
    found = scan_of("@mark.requirement('OPS-1-01')\ndef test_one(): ...")
    assert not audit(small_ledger, found).problems
    small_ledger.pending["AMB-01"] = "Later."
    small_ledger.excluded["OPS-9"] = "Gone."

    assert audit(small_ledger, found).problems == [
        "OPS-9: listed, but not in the ledger",
        "AMB-01: both pending and excluded",
    ]


def test_what_applies_everywhere_is_counted_for_each_interface(small_ledger: Ledger) -> None:
    found = Scan()
    source = "@mark.requirement('OPS-1-01')\ndef test_one(): ..."
    scan_source(source, "tests/api/test_x.py", found)
    result = audit(small_ledger, found)

    assert figures_by_interface(small_ledger, result) == [
        ("website", 1, 0, 1, 0),
        ("API", 1, 1, 0, 0),
        ("MCP", 1, 0, 1, 0),
        ("conversation", 1, 0, 1, 0),
    ]
    assert "| OPS-1-01 | MUST | API | website, MCP, conversation |" in render(small_ledger, result)


def test_a_test_in_common_shows_a_statement_at_every_door(small_ledger: Ledger) -> None:
    result = audit(small_ledger, scan_of("@mark.requirement('OPS-1-01')\ndef test_one(): ..."))

    assert [row[2] for row in figures_by_interface(small_ledger, result)] == [1, 1, 1, 0]


def test_what_says_something_on_one_interface_only_is_pending_on_no_other(
    small_ledger: Ledger,
) -> None:
    small_ledger.only_on["OPS-1-01"] = (["website"], "Only the website has it.")
    result = audit(small_ledger, Scan())

    assert [row[1] for row in figures_by_interface(small_ledger, result)] == [1, 0, 0, 0]


def test_nothing_is_pending_on_an_interface_that_has_a_door() -> None:
    rows = figures_by_interface(ledger(), audit(ledger(), scan()))

    assert {name: pending for name, _, _, pending, _ in rows if name != "conversation"} == {
        "website": 0,
        "API": 0,
        "MCP": 0,
    }


def test_only_claimed_pending_rows_are_taken_out() -> None:
    text = '# a comment\n[pending]\n"A" = "x"\n"B" = "y"\n\n[excluded]\n"A" = "z"\n'

    assert without_claimed(text, {"A"}) == (
        '# a comment\n[pending]\n"B" = "y"\n\n[excluded]\n"A" = "z"\n'
    )


def test_the_page_shows_tests_and_reasons(small_ledger: Ledger, tmp_path: Path) -> None:
    found = scan_of("@mark.requirement('OPS-1-01')\ndef test_one(): ...")
    text = render(small_ledger, audit(small_ledger, found))

    assert "| It is done once \\| or never. | `tests/test_x.py::test_one` |" in text
    assert "| It asks. | Pending. Later. |" in text
    assert "| n &lt;= 1. | Excluded. Not ours. |" in text
    assert not is_current(text, tmp_path)
    write(text, tmp_path)
    assert is_current(text, tmp_path)


def test_the_command_takes_claimed_rows_out_and_writes_the_page(
    small_ledger: Ledger,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = "@mark.requirement('OPS-1-01', 'AGT-1-01')\ndef test_one(): ..."
    pending = tmp_path / "pending.toml"
    monkeypatch.setattr(command, "PENDING", pending)
    monkeypatch.setattr(
        command, "read_ledger", lambda: read_ledger(tmp_path / "requirements.toml", pending)
    )
    monkeypatch.setattr(command, "scan", lambda: scan_of(source))
    monkeypatch.setattr(command, "write", lambda text: write(text, tmp_path))
    monkeypatch.setattr(command, "is_current", lambda text: is_current(text, tmp_path))

    assert command.main(["--check", "--pending"]) == 1
    assert "AGT-1-01: Later." in capsys.readouterr().out
    assert command.main([]) == 0
    assert command.main(["--check"]) == 0
    assert "Company: 1 of 1 shown, 0 pending, 0 excluded" in capsys.readouterr().out
    assert "AGT-1-01" not in pending.read_text("utf-8")
    pending.write_text('[excluded]\n"AMB-01" = "Others\' work."\n', "utf-8")
    assert command.main(["--check"]) == 1
    assert "is out of date" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "kind", "identifier", "problem"),
    [
        ("test_one", "requirement", "OPS-1-01", ""),
        ("test_amb_30_a", "ambiguity", "AMB-30", ""),
        ("test_one", "requirement", "OPS-0-00", "OPS-0-00 is not the id of a known requirement"),
        ("test_one", "ambiguity", "AMB-30", "a test of AMB-30 must have amb_30 in its name"),
    ],
)
def test_a_test_with_a_wrong_mark_fails(
    name: str, kind: str, identifier: str, problem: str
) -> None:
    marks = {kind: [SimpleNamespace(args=(identifier,))]}
    item: Any = SimpleNamespace(name=name, iter_markers=lambda one: marks.get(one, []))
    if not problem:
        plugin.pytest_runtest_setup(item)
        return

    with pytest.raises(pytest.fail.Exception, match=problem):
        plugin.pytest_runtest_setup(item)
