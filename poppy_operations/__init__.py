"""Operations v3 of the Personal Agent Protocol, the Company's side, for Django."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from poppy_operations.action import Action as Action
    from poppy_operations.company import Company as Company
    from poppy_operations.declarations.current import CurrentOperation as CurrentOperation
    from poppy_operations.declarations.current import operation_of as operation_of
    from poppy_operations.declarations.outcomes import Decline as Decline
    from poppy_operations.declarations.outcomes import NotPerformed as NotPerformed
    from poppy_operations.declarations.outcomes import Performed as Performed
    from poppy_operations.declarations.outcomes import Refusal as Refusal
    from poppy_operations.declarations.terms import Each as Each
    from poppy_operations.declarations.terms import Terms as Terms

# Imported when they are first used: an app in INSTALLED_APPS is imported before models can be.
_HOMES = {
    "Action": "action",
    "Company": "company",
    "CurrentOperation": "declarations.current",
    "Decline": "declarations.outcomes",
    "Each": "declarations.terms",
    "NotPerformed": "declarations.outcomes",
    "Performed": "declarations.outcomes",
    "Refusal": "declarations.outcomes",
    "Terms": "declarations.terms",
    "operation_of": "declarations.current",
}
__all__ = [
    "Action",
    "Company",
    "CurrentOperation",
    "Decline",
    "Each",
    "NotPerformed",
    "Performed",
    "Refusal",
    "Terms",
    "operation_of",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
