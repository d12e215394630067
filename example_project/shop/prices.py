"""Amounts of money as terms, answers and people read them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from example_project.shop.models import CENT, CURRENCY


def money(amount: Decimal) -> dict[str, str]:
    """Return an amount for terms and answers: text, always with two decimals."""
    return {"amount": str(amount.quantize(CENT)), "currency": CURRENCY}


def amount_of(value: Mapping[str, Any]) -> Decimal:
    """Read back what ``money`` wrote."""
    return Decimal(value["amount"])


def dollars(amount: Decimal) -> str:
    """Return an amount as people write it, such as ``$70.00`` or ``-$20.00``."""
    sign = "-" if amount < 0 else ""
    return f"{sign}${abs(amount).quantize(CENT)}"
