"""The shop's actions: one definition of each, whatever door it is asked for through."""

from __future__ import annotations

from django.conf import settings
from rest_framework import status
from rest_framework.response import Response

from example_project.shop.closures import DECLINED_REASON, declined_alternative
from example_project.shop.prices import money
from example_project.shop.refunds import refund_that_happened
from poppy_operations import (
    Action,
    ApprovalStatement,
    ApprovedOperation,
    Decline,
    NotPerformed,
    Performed,
)

exchange = Action(
    "orders.exchange",
    effects="database",
    prefix="exc",
    lifetime=settings.DEMO_LIFETIME,
    lease=settings.DEMO_LEASE,
)
refund = Action(
    "orders.refund",
    effects="external",
    prefix="rfd",
    lifetime=settings.DEMO_LIFETIME,
    lease=settings.DEMO_LEASE,
)
reservation = Action(
    "reservations.reserve",
    effects="database",
    prefix="rsv",
    lifetime=settings.DEMO_LIFETIME,
    lease=settings.DEMO_LEASE,
)
closure = Action(
    "account.closure",
    effects="database",
    prefix="cls",
    lifetime=settings.DEMO_LIFETIME,
    lease=settings.DEMO_LEASE,
)


@refund.reconcile
def refund_outcome(operation: ApprovedOperation) -> Performed | NotPerformed:
    """Ask the gateway, which from now on refuses a refund that it has not made yet."""
    happened = refund_that_happened(operation.idempotency_key)
    if happened is None:
        return NotPerformed()
    made = {"refund_id": happened.refund_id, "amount": money(happened.amount)}
    return Performed(made, status=status.HTTP_201_CREATED)


@closure.decline
def only_the_account_holder(
    operation: ApprovedOperation, approval: ApprovalStatement
) -> Decline | None:
    """Decline what the User did not approve in person."""
    if approval.approver == "user":
        return None
    return Decline(DECLINED_REASON, declined_alternative(settings.ISSUER), rule="user only")


def refused(detail: str) -> Response:
    """Return the answer of a refund that the gateway refuses."""
    return Response(
        {"error": "refund_refused", "detail": detail}, status.HTTP_422_UNPROCESSABLE_ENTITY
    )
