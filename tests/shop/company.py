"""Companies with hooks of their own; what the first one decides is set by a test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest, JsonResponse

from poppy_operations import Company, CurrentOperation, Decline, Refusal
from poppy_operations.declarations.declared_action import DeclaredAction
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


class Talkative(Company):
    """Has error fields of its own."""

    def extra_members(self, request: HttpRequest, interface: str) -> Mapping[str, Any]:
        """Add them."""
        return {"detail": "Approval is needed.", "code": "E403"}


class ByOperation(Company):
    """Tells where to sign in for an operation."""

    def challenge(self, request: HttpRequest, operation_id: str | None = None) -> str:
        """Point to a page of the host that was asked."""
        return f'Bearer resource_metadata="https://{request.get_host()}/{operation_id}"'


class Strict(Company):
    """Declines what agents approve, whatever it is."""

    def decline(self, operation: CurrentOperation, approval: ApprovalStatement) -> Decline | None:
        """Decline it."""
        return Decline("Not by agents.") if approval.approver == "agent" else None


class NotARefusal(Company):
    """Answers by itself what a Refusal would answer."""

    def undeclared(self, request: HttpRequest, action: DeclaredAction) -> Any:
        """Say no."""
        return JsonResponse({}, status=409)


class NumberedAccounts(Company):
    """Forgets that accounts are text."""

    def account_of(self, user: Any) -> Any:
        """The number of the row."""
        return user.pk if user.is_authenticated else None


class OwnWay(Company):
    """Handles approval itself where an agent may not get an operation."""

    def undeclared(self, request: HttpRequest, action: DeclaredAction) -> Refusal:
        """Point to its own way."""
        return Refusal(JsonResponse({"see": "https://shop.example/approve"}, status=409))
