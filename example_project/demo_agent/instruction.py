"""An instruction of the User, and whether it covers an operation (5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

EXCHANGE = {"order_id", "item_id", "replacement_sku", "price_difference"}
CURRENCY = "USD"


@dataclass(frozen=True)
class Instruction:
    """Go ahead with any exchange that costs less than so many dollars."""

    limit: Decimal

    def __str__(self) -> str:
        """Say it as the User would."""
        return f"any exchange under ${self.limit}"

    def reason_not_covered(self, terms: Mapping[str, Any]) -> str:
        """Return why the User has to be asked after all; ``""`` where the instruction covers it.

        Only terms that are understood as a whole are covered: whatever else they hold might be
        what the User would not want.
        """
        if set(terms) != EXCHANGE:
            return "I do not understand all of these terms, so I ask you."
        difference = terms["price_difference"]
        try:
            amount = Decimal(difference["amount"])
            currency = difference["currency"]
        except (InvalidOperation, TypeError, KeyError):
            return "I cannot tell what it costs, so I ask you."
        if currency != CURRENCY:
            return f"Your instruction is about dollars, and this is in {currency}, so I ask you."
        if not amount < self.limit:
            return f"{amount} {CURRENCY} is not under ${self.limit}, so I ask you."
        return ""


def instruction_of(text: str) -> Instruction | None:
    """Read a limit as it was typed, or ``None`` where it is none."""
    try:
        limit = Decimal(text.strip())
    except InvalidOperation:
        return None
    return Instruction(limit) if limit.is_finite() and 0 < limit <= 100_000 else None
