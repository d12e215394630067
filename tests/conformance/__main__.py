"""Bring the ledger and its page up to date, or check that they are.

``python -m tests.conformance`` takes out of ``pending.toml`` what a test now claims, writes
``docs/reference/conformance.md`` and prints what is shown and what is pending. With ``--check`` it
changes nothing. Exits with 1 where something is wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tests.conformance.audit import HOW_TO_UPDATE, Audit, audit
from tests.conformance.claims import Scan, scan
from tests.conformance.ledger import PENDING, Ledger, read_ledger, without_claimed
from tests.conformance.page import (
    PAGE,
    figures,
    figures_by_interface,
    is_current,
    render,
    write,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; give its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, only say")
    parser.add_argument("--pending", action="store_true", help="name every pending statement")
    options = parser.parse_args(arguments)
    found = scan()
    if not options.check:
        _settle_pending(found)
    ledger = read_ledger()
    result = audit(ledger, found)
    text = render(ledger, result)
    problems = list(result.problems)
    if not options.check:
        write(text)
    elif not is_current(text):
        problems.append(f"{PAGE} is out of date; {HOW_TO_UPDATE}")
    _report(ledger, result, problems, name_pending=options.pending)
    return 1 if problems else 0


def _settle_pending(found: Scan) -> None:
    shown = audit(read_ledger(), found).shown_by
    before = PENDING.read_text("utf-8")
    after = without_claimed(before, set(shown))
    if after != before:
        PENDING.write_text(after, "utf-8")


def _report(ledger: Ledger, result: Audit, problems: Sequence[str], *, name_pending: bool) -> None:
    write_line = sys.stdout.write
    rows = [*figures(ledger, result), *figures_by_interface(ledger, result)]
    for name, total, shown, pending, excluded in rows:
        write_line(f"{name}: {shown} of {total} shown, {pending} pending, {excluded} excluded\n")
    if name_pending:
        for identifier, reason in ledger.pending.items():
            write_line(f"  {identifier}: {reason}\n")
    for problem in problems:
        write_line(f"problem: {problem}\n")


if __name__ == "__main__":
    sys.exit(main())
