"""The page ``docs/reference/conformance.md``, written from the ledger and the claims."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.audit import Audit
from tests.conformance.claims import ROOT
from tests.conformance.ledger import Ledger

PAGE = Path("docs/reference/conformance.md")
HEAD = """\
<!-- Written by `python -m tests.conformance`; do not edit. -->

# Conformance

What version 3 of the Operations extension states, one row a statement, and the tests that show that
this package keeps to it. The wording of the statements is ours; the sections are the text's.

*Level* is the text's keyword; FACT stands for a wire format or a behaviour that is stated without
one, and holds like a MUST. *Interfaces* says where a statement applies. A row without a test says
why: it is pending, or excluded because it binds somebody else or is a permission that is not used.
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


def render(ledger: Ledger, audit: Audit) -> str:
    """Give the whole page."""
    lines = [
        HEAD,
        "| | statements | shown | pending | excluded |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [f"| {' | '.join(map(str, row))} |" for row in figures(ledger, audit)]
    for role, title in (("company", "The Company"), ("agent", "The Personal Agent")):
        lines += ["", f"## {title}", ""]
        if role == "agent":
            lines += ["Shown by the Personal Agent that comes with the test kit.", ""]
        lines += ["| id | level | interfaces | statement | shown by |", "| --- " * 5 + "|"]
        lines += [
            f"| {row.id} | {row.level} | {', '.join(row.interfaces)} | {_cell(row.statement)} "
            f"| {_shown(row.id, ledger, audit)} |"
            for row in ledger.requirements.values()
            if row.role == role
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


def _shown(identifier: str, ledger: Ledger, audit: Audit) -> str:
    tests = audit.shown_by.get(identifier)
    if tests:
        return "<br>".join(f"`{test}`" for test in sorted(set(tests)))
    if identifier in ledger.excluded:
        return f"Excluded. {_cell(ledger.excluded[identifier])}"
    return f"Pending. {_cell(ledger.pending.get(identifier, ''))}".rstrip()


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
