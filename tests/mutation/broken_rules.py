"""The table of broken rules: what is changed, one at a time, and which tests must notice.

Each file of ``broken/`` is about one folder of the package. Its ``folder`` is where the tests about
it are. Below it each row stands under the file that it changes:

    [["gate/order.py"]]
    ids = ["OPS-6-43"]      # requirements and decisions that the change breaks
    old = "what is there"   # exactly once in the file
    new = "what breaks it"

A row without ``ids`` breaks a rule of our own and ``says`` which. ``folder`` of a row takes the
place of the file's. ``explained`` says why a test that must notice cannot.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.claims import ROOT

TABLE = Path(__file__).resolve().parent / "broken"
PACKAGE = "poppy_operations"
WITHOUT_A_RULE = TABLE / "without_a_rule.toml"


@dataclass(frozen=True, kw_only=True)
class BrokenRule:
    """One row: a change of the package that breaks what its ids, or its words, say."""

    where: str
    path: str
    ids: tuple[str, ...]
    says: str
    old: str
    new: str
    folder: str
    explained: str

    @property
    def name(self) -> str:
        """What a report calls it."""
        return f"{', '.join(self.ids) or self.says} ({self.where})"

    @property
    def is_about(self) -> str:
        """What the names of the tests about its module begin with, as a rule."""
        return self.path.rpartition("/")[2].removesuffix(".py")

    @property
    def module(self) -> str:
        """The module that it changes."""
        return self.path.removesuffix(".py").replace("/", ".")

    def sources(self) -> tuple[str, str]:
        """The module's source before and after the change.

        Raises:
            ValueError: what is changed is not there exactly once.
        """
        before = (ROOT / self.path).read_text("utf-8")
        count = before.count(self.old)
        if count != 1:
            message = f"{self.name}: {self.old!r} is {count} times in {self.path}, not once."
            raise ValueError(message)
        return before, before.replace(self.old, self.new)


def read_rules(table: Path = TABLE) -> list[BrokenRule]:
    """Read all rows, in the order of the files."""
    return [
        rule
        for path in sorted(table.glob("*.toml"))
        if path != WITHOUT_A_RULE
        for rule in _read(path)
    ]


def _read(path: Path) -> Iterator[BrokenRule]:
    content = tomllib.loads(path.read_text("utf-8"))
    for file, rows in content.items():
        if not isinstance(rows, list):
            continue
        for number, row in enumerate(rows, 1):
            yield BrokenRule(
                where=f"{path.stem}: {file} {number}",
                path=f"{PACKAGE}/{file}",
                ids=tuple(row.get("ids", ())),
                says=row.get("says", ""),
                old=row["old"],
                new=row["new"],
                folder=row.get("folder", content["folder"]),
                explained=row.get("explained", ""),
            )


def without_a_rule() -> dict[str, str]:
    """Name what is claimed and has no rule in code that could be broken, and why."""
    reasons: dict[str, str] = tomllib.loads(WITHOUT_A_RULE.read_text("utf-8"))["reasons"]
    return reasons
