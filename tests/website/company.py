"""The Company of the website's tests, whose policies a test sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from poppy_operations import CurrentOperation, Decline
from poppy_operations.company import Company
from poppy_operations.declarations.outcomes import Refusal
from poppy_operations.protocol.approval import ApprovalStatement


@dataclass
class Policy:
    """What the Company decides, and what it was asked."""

    decline: Callable[[CurrentOperation, ApprovalStatement], Decline | None] = (
        lambda operation, approval: None
    )
    undeclared: Callable[[Any], Refusal] = lambda request: Refusal()
    asked: list[tuple[CurrentOperation, ApprovalStatement]] = field(default_factory=list)

    def reset(self) -> None:
        """Be ordinary again."""
        self.__init__()  # type: ignore[misc]  # every field gets its default again


policy = Policy()


class PolicyCompany(Company):
    """Decides as ``policy`` says."""

    def undeclared(self, request: Any, action: Any) -> Refusal:
        """What an agent meets that may not get an operation."""
        return policy.undeclared(request)

    def decline(self, operation: CurrentOperation, approval: ApprovalStatement) -> Decline | None:
        """Whether the Company acts on an approval."""
        policy.asked.append((operation, approval))
        return policy.decline(operation, approval)
