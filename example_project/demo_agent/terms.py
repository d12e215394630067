"""What an agent makes of an operation: rows to show, what has changed, and what does not agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from poppy_operations.declarations.terms import Terms
from poppy_operations.summaries import lint_summary


@dataclass(frozen=True)
class Row:
    """One value of the terms, and the one that an earlier revision had there."""

    name: str
    now: str
    before: str | None = None

    @property
    def is_changed(self) -> bool:
        """Whether an earlier revision said something else."""
        return self.before is not None and self.before != self.now


def rows(terms: Mapping[str, Any], earlier: Mapping[str, Any] | None) -> list[Row]:
    """Return every value of the terms, and of earlier ones beside it."""
    now, before = dict(_values(terms)), dict(_values(earlier or {}))
    names = [*now, *(name for name in before if name not in now)]
    if earlier is None:
        return [Row(name, now[name]) for name in names]
    return [Row(name, now.get(name, "–"), before.get(name, "–")) for name in names]


def _values(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        amount, currency = value.get("amount"), value.get("currency")
        if len(value) == 2 and amount is not None and currency is not None:
            yield path, f"{amount} {currency}"
            return
        for name, inner in value.items():
            yield from _values(inner, f"{path}: {name}" if path else str(name))
    elif isinstance(value, list):
        for index, inner in enumerate(value, 1):
            yield from _values(inner, f"{path} {index}")
    else:
        yield path, str(value)


def disagreements(operation: Mapping[str, Any], asked: Mapping[str, str]) -> list[str]:
    """Say where the terms are not what was asked for, or the summary does not say the terms (5).

    The Company writes both, so that the summary alone could describe something else.
    """
    terms = operation["terms"]
    found = [
        f"The browser asked for {name} {wanted}, and the terms say {terms.get(name, 'nothing')}."
        for name, wanted in asked.items()
        if terms.get(name) != wanted
    ]
    summary = operation.get("summary")
    return found + [str(finding) for finding in lint_summary(Terms(terms, summary=summary))]
