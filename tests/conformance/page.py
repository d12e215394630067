"""The page ``docs/reference/conformance.md``, written from the ledger and the claims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.conformance.audit import Audit
from tests.conformance.claims import ROOT
from tests.conformance.interfaces import INTERFACES, where_it_applies, where_it_is_shown
from tests.conformance.ledger import Ledger, Requirement

PAGE = Path("docs/reference/conformance.md")
NAMES = {"website": "website", "api": "API", "mcp": "MCP", "conversation": "conversation"}
HEAD = """\
<!-- Written by `python -m tests.conformance`; do not edit. -->

# Conformance

What version 3 of the Operations extension states, one row a statement, and the tests that show that
this package keeps to it. The wording of the statements is ours; the sections are the text's.

*Level* is the text's keyword; FACT stands for a wire format or a behaviour that is stated without
one, and holds like a MUST. A row without a test says why: it is pending, or excluded because it
binds somebody else or is a permission that is not used.

*Shown on* names the interfaces on which the tests of a row show it. *Pending on* names those where
it applies as well and no test shows it yet: this package has doors for the website, for APIs and
for MCP tools. What applies everywhere is counted once for each interface.
"""


def figures(ledger: Ledger, audit: Audit) -> list[tuple[str, int, int, int, int]]:
    """Count for each part of the ledger: all rows, shown, pending, excluded."""
    parts = {
        "Company": [r.id for r in ledger.requirements.values() if r.role == "company"],
        "Personal Agent": [r.id for r in ledger.requirements.values() if r.role == "agent"],
        "Unclear points": list(ledger.ambiguities),
    }
    return [
        (
            name,
            len(ids),
            sum(one in audit.shown_by for one in ids),
            sum(one in ledger.pending and one not in audit.shown_by for one in ids),
            sum(one in ledger.excluded for one in ids),
        )
        for name, ids in parts.items()
    ]


def figures_by_interface(ledger: Ledger, audit: Audit) -> list[tuple[str, int, int, int, int]]:
    """Count the Company's statements for each interface where they apply, in the same order."""
    rows = [row for row in ledger.requirements.values() if row.role == "company"]
    return [_of_interface(name, rows, ledger, audit) for name in INTERFACES]


def _of_interface(
    name: str, rows: Sequence[Requirement], ledger: Ledger, audit: Audit
) -> tuple[str, int, int, int, int]:
    applying = [row for row in rows if name in where_it_applies(row, ledger)]
    excluded = sum(row.id in ledger.excluded for row in applying)
    shown = sum(name in _places(row, ledger, audit)[0] for row in applying)
    return NAMES[name], len(applying), shown, len(applying) - shown - excluded, excluded


def _places(
    row: Requirement, ledger: Ledger, audit: Audit
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Where tests show a statement, and where it is pending."""
    if row.id in ledger.excluded:
        return (), ()
    shown = where_it_is_shown(row, audit.shown_by.get(row.id, ()), ledger)
    return shown, tuple(one for one in where_it_applies(row, ledger) if one not in shown)


def _table(head: str, rows: Sequence[tuple[str, int, int, int, int]]) -> list[str]:
    lines = [f"| {head} | statements | shown | pending | excluded |", "| --- " * 5 + "|"]
    return lines + [f"| {' | '.join(map(str, row))} |" for row in rows]


def render(ledger: Ledger, audit: Audit) -> str:
    """Give the whole page."""
    lines = [HEAD, *_table("", figures(ledger, audit))]
    lines += ["", *_table("of the Company, on", figures_by_interface(ledger, audit))]
    for role, title in (("company", "The Company"), ("agent", "The Personal Agent")):
        lines += ["", f"## {title}", ""]
        if role == "agent":
            lines += ["Shown by the Personal Agent that comes with the test kit.", ""]
        lines += ["| id | level | shown on | pending on | statement | shown by |"]
        lines += ["| --- " * 6 + "|"]
        lines += [
            _row(row, ledger, audit) for row in ledger.requirements.values() if row.role == role
        ]
    lines += ["", "## Unclear points", "", "Where the text can be read in more than one way.", ""]
    lines += ["| id | section | point | how we read it | shown by |", "| --- " * 5 + "|"]
    lines += [
        f"| {row.id} | {row.section} | {_cell(row.point)} | {_cell(row.decision)} "
        f"| {_shown(row.id, ledger, audit)} |"
        for row in ledger.ambiguities.values()
    ]
    return "\n".join(lines) + "\n"


def is_current(text: str, root: Path = ROOT) -> bool:
    """Say whether the page in the tree is the one that would be written."""
    path = root / PAGE
    return path.exists() and path.read_text("utf-8") == text


def write(text: str, root: Path = ROOT) -> None:
    """Write the page."""
    path = root / PAGE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def _row(row: Requirement, ledger: Ledger, audit: Audit) -> str:
    places = [", ".join(NAMES[one] for one in where) for where in _places(row, ledger, audit)]
    cells = [row.id, row.level, *places, _cell(row.statement), _shown(row.id, ledger, audit)]
    return f"| {' | '.join(cells)} |"


def _shown(identifier: str, ledger: Ledger, audit: Audit) -> str:
    tests = audit.shown_by.get(identifier)
    if tests:
        return "<br>".join(f"`{test}`" for test in sorted(set(tests)))
    if identifier in ledger.excluded:
        return f"Excluded. {_cell(ledger.excluded[identifier])}"
    return f"Pending. {_cell(ledger.pending.get(identifier, ''))}".rstrip()


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
