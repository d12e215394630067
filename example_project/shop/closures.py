"""Close an account: written down now, carried out by staff within a month.

The account keeps working until then, so that its holder can still see what was asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from example_project.shop.models import Closure

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from django.contrib.auth.models import User

SUMMARY = "Close this Stormline account."
DECLINED_REASON = "Only the account holder can close this account."


def closure_values(user: User) -> dict[str, object]:
    """Return the terms of closing the account."""
    return {"account": str(user.pk)}


def declined_alternative(home: str) -> dict[str, object]:
    """Return where the account holder can do it: the shop's own pages."""
    return {
        "instructions": "The account holder can sign in and ask us to close the account.",
        "references": [{"type": "web", "url": f"{home}/accounts/login/"}],
    }


def close_account(terms: Mapping[str, Any], operation_id: str | None) -> Closure:
    """Write the closure down exactly as ``terms`` say."""
    return Closure.objects.create(
        customer_id=int(terms["account"]), operation_id=operation_id or ""
    )
