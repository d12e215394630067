"""Operations v3 of the Personal Agent Protocol, the Company's side, for Django.

These names and those on the page ``docs/reference/stability.md`` are public. Everything else is
internal: it can change in any release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poppy_operations.lazily import names_from

if TYPE_CHECKING:
    from poppy_operations.action import Action as Action
    from poppy_operations.browser.facts import RequestFacts as RequestFacts
    from poppy_operations.browser.state import Browser as Browser
    from poppy_operations.company import Company as Company
    from poppy_operations.declarations.current import ApprovedOperation as ApprovedOperation
    from poppy_operations.declarations.current import CurrentOperation as CurrentOperation
    from poppy_operations.declarations.current import operation_of as operation_of
    from poppy_operations.declarations.declared_action import DeclaredAction as DeclaredAction
    from poppy_operations.declarations.outcomes import Decline as Decline
    from poppy_operations.declarations.outcomes import NotPerformed as NotPerformed
    from poppy_operations.declarations.outcomes import Performed as Performed
    from poppy_operations.declarations.outcomes import Refusal as Refusal
    from poppy_operations.declarations.terms import Each as Each
    from poppy_operations.declarations.terms import Terms as Terms
    from poppy_operations.protocol.approval import ApprovalStatement as ApprovalStatement
    from poppy_operations.protocol.owner import Owner as Owner
    from poppy_operations.sessions.session import Session as Session

_HOMES = {
    "Action": "action",
    "ApprovalStatement": "protocol.approval",
    "ApprovedOperation": "declarations.current",
    "Browser": "browser.state",
    "Company": "company",
    "CurrentOperation": "declarations.current",
    "Decline": "declarations.outcomes",
    "DeclaredAction": "declarations.declared_action",
    "Each": "declarations.terms",
    "NotPerformed": "declarations.outcomes",
    "Owner": "protocol.owner",
    "Performed": "declarations.outcomes",
    "Refusal": "declarations.outcomes",
    "RequestFacts": "browser.facts",
    "Session": "sessions.session",
    "Terms": "declarations.terms",
    "operation_of": "declarations.current",
}
__all__ = [
    "Action",
    "ApprovalStatement",
    "ApprovedOperation",
    "Browser",
    "Company",
    "CurrentOperation",
    "DeclaredAction",
    "Decline",
    "Each",
    "NotPerformed",
    "Owner",
    "Performed",
    "Refusal",
    "RequestFacts",
    "Session",
    "Terms",
    "operation_of",
]
__getattr__ = names_from(__name__, _HOMES)
