"""The rules between the ledger and the claims."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from tests.conformance.claims import Claim, Scan
from tests.conformance.ledger import Ledger

HOW_TO_UPDATE = "run `python -m tests.conformance`"


@dataclass(frozen=True)
class Audit:
    """Which tests show which id, and everything that is wrong."""

    shown_by: dict[str, list[str]]
    problems: list[str]


def mark_problems(kind: str, identifier: str, test_name: str, ledger: Ledger) -> list[str]:
    """Say what is wrong with one mark of one test."""
    if identifier not in ledger.known(kind):
        return [f"{identifier} is not the id of a known {kind}"]
    name_part = identifier.lower().replace("-", "_")
    if kind == "ambiguity" and name_part not in test_name:
        return [f"a test of {identifier} must have {name_part} in its name"]
    return []


def audit(ledger: Ledger, scan: Scan) -> Audit:
    """Compare what tests claim with what the ledger says of each id."""
    shown_by: dict[str, list[str]] = defaultdict(list)
    problems = list(scan.problems)
    for claim in scan.claims:
        found = _problems_of(claim, ledger)
        problems += [f"{claim.where}: {problem}" for problem in found]
        if not found:
            shown_by[claim.id].append(claim.where)
    listed = [*ledger.pending, *ledger.excluded, *ledger.only_on]
    problems += [f"{one}: listed, but not in the ledger" for one in listed if one not in ledger.ids]
    for one in sorted(ledger.ids):
        problems += _state_problems(one, ledger, claimed=one in shown_by)
    return Audit(dict(shown_by), problems)


def _problems_of(claim: Claim, ledger: Ledger) -> list[str]:
    return mark_problems(claim.kind, claim.id, claim.test.rpartition("::")[2], ledger)


def _state_problems(identifier: str, ledger: Ledger, *, claimed: bool) -> list[str]:
    """An id is claimed, pending or excluded: exactly one of the three."""
    pending, excluded = identifier in ledger.pending, identifier in ledger.excluded
    if claimed and excluded:
        return [f"{identifier}: a test claims it, and it is excluded"]
    if claimed and pending:
        return [f"{identifier}: a test claims it, and it is still pending; {HOW_TO_UPDATE}"]
    if pending and excluded:
        return [f"{identifier}: both pending and excluded"]
    if not (claimed or pending or excluded):
        return [f"{identifier}: no test claims it, and it is neither pending nor excluded"]
    return []
