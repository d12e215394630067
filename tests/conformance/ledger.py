"""The ledger: what the text states, what is still pending and what is excluded."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements.toml"
PENDING = HERE / "pending.toml"


@dataclass(frozen=True)
class Requirement:
    """One statement of the text, in words of our own."""

    id: str
    role: str
    section: str
    level: str
    interfaces: tuple[str, ...]
    statement: str


@dataclass(frozen=True)
class Ambiguity:
    """One unclear point of the text, and how we read it."""

    id: str
    section: str
    point: str
    decision: str


@dataclass(frozen=True)
class Ledger:
    """All rows by id, and the reasons of those that no test claims.

    ``only_on`` names the interfaces of a statement about all of them that says nothing which could
    be shown on the others, and why.
    """

    requirements: dict[str, Requirement]
    ambiguities: dict[str, Ambiguity]
    pending: dict[str, str]
    excluded: dict[str, str]
    only_on: dict[str, tuple[list[str], str]]

    @property
    def ids(self) -> set[str]:
        """Every id that there is."""
        return {*self.requirements, *self.ambiguities}

    def known(self, kind: str) -> set[str]:
        """The ids that a mark of this kind may name."""
        return set(self.requirements if kind == "requirement" else self.ambiguities)


def read_ledger(requirements: Path = REQUIREMENTS, pending: Path = PENDING) -> Ledger:
    """Read both files. Raise ValueError when an id is given twice."""
    rows = tomllib.loads(requirements.read_text("utf-8"))
    reasons = tomllib.loads(pending.read_text("utf-8"))
    ids = [row["id"] for table in ("requirement", "ambiguity") for row in rows[table]]
    twice = sorted(name for name, count in Counter(ids).items() if count > 1)
    if twice:
        message = f"Given twice in {requirements.name}: {', '.join(twice)}"
        raise ValueError(message)
    return Ledger(
        {
            row["id"]: Requirement(**{**row, "interfaces": tuple(row["interfaces"])})
            for row in rows["requirement"]
        },
        {row["id"]: Ambiguity(**row) for row in rows["ambiguity"]},
        reasons.get("pending", {}),
        reasons.get("excluded", {}),
        {one: (on, because) for one, (on, because) in reasons.get("only_on", {}).items()},
    )


@cache
def ledger() -> Ledger:
    """Give the project's own ledger, read once."""
    return read_ledger()


def without_claimed(text: str, claimed: set[str]) -> str:
    """Give the text of the pending file without the pending rows that a test now claims.

    Lines are dropped and nothing else is touched, so that comments and order stay.
    """
    kept: list[str] = []
    table = ""
    for line in text.splitlines():
        if line.startswith("["):
            table = line.strip("[] ")
        key = line.partition("=")[0].strip()
        if table == "pending" and key.startswith('"') and json.loads(key) in claimed:
            continue
        kept.append(line)
    return "\n".join(kept) + "\n"
