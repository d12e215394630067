"""What operators see in the admin's tests: rows of one operation, people, and their pages."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client

from poppy_operations.browser import marks
from poppy_operations.models import (
    Agent,
    Approval,
    Decline,
    Join,
    Operation,
    Performance,
    Revision,
    Settlement,
)

MODELS = [Agent, Operation, Revision, Approval, Decline, Performance, Settlement, Join]
NOW = datetime(2026, 10, 8, 12, tzinfo=UTC)
SECRET = "hidden-from-operators"
numbers = itertools.count()


def url(model: type, *, of: Any = None) -> str:
    page = f"/admin/poppy_operations/{model.__name__.lower()}/"
    return page if of is None else f"{page}{of.pk}/change/"


@dataclass
class Told:
    """One operation with everything that can belong to it."""

    operation: Operation
    revision: Revision
    approval: Approval
    performance: Performance
    join: Join


def tell(agent: Agent, account: str | None = "7", *, at: datetime = NOW, **fields: Any) -> Told:
    n = next(numbers)
    operation = Operation.objects.create(
        **{
            "operation_id": f"op_{n}",
            "action": "shop.buy",
            "interface": "website",
            "client_id": agent.client_id,
            "user_id": "u1",
            "account": account,
            "owner_digest": f"{SECRET}-owner",
            "slot": f"{SECRET}-slot-{n}",
            "attempt": f"{SECRET}-a",
            "state": "performed",
            "created_at": at,
            **fields,
        }
    )
    revision = Revision.objects.create(
        operation=operation,
        revision=f"rev-{n}",
        number=1,
        ref=f"{SECRET}-ref-{n}",
        watch=f"{SECRET}-watch-{n}",
        terms=json.dumps({"to": "<b>Bob</b>", "total": {"amount": "70.00"}}),
        terms_digest=SECRET,
        target_digest=SECRET,
        raw_digest=SECRET,
        content_digest=SECRET,
        content_fields=json.dumps({"field": SECRET}),
        summary="Buy a jacket.",
        returned_at=at,
        expires_at=at + timedelta(minutes=15),
        lifetime_s=900,
    )
    approval = Approval.objects.create(
        operation=operation,
        revision=revision,
        approver="user",
        approved_at=1791460000,
        input_type="voice",
        reference=f"agents-own-{n}",
        sid="ses_1",
        received_at=at + timedelta(minutes=1),
        voided_at=at + timedelta(minutes=5),
        voided_by="staff",
        voided_because="asked by phone",
    )
    Decline.objects.create(
        operation=operation,
        revision=revision,
        approver="agent",
        reason="Only Users approve this.",
        alternative=json.dumps({"url": "/elsewhere"}),
        rule="no-agents",
        declined_at=at + timedelta(minutes=2),
    )
    performance = Performance.objects.create(
        operation=operation,
        revision=revision,
        approval=approval,
        attempt=f"{SECRET}-a",
        status=303,
        headers=json.dumps([["Location", f"/{SECRET}"]]),
        body=SECRET.encode(),
        finished_at=at + timedelta(minutes=3),
    )
    Settlement.objects.create(
        operation=operation,
        attempt=f"{SECRET}-b",
        outcome="not_performed",
        settled_by="staff",
        because="the gateway says so",
        settled_at=at + timedelta(minutes=4),
    )
    join = Join.objects.create(
        agent=agent,
        ticket_digest=f"{SECRET}-{n}",
        ticket_expires_at=at,
        user_id="u1",
        account=account,
        sid=f"ses_{n}",
        return_to=f"/{SECRET}",
        cookie_name=SECRET,
        cookie_digest=SECRET,
        session_key_digest=SECRET,
        created_at=at,
        expires_at=at,
    )
    return Told(operation, revision, approval, performance, join)


def staff(*permissions: str) -> Client:
    user = get_user_model().objects.create_user(f"staff{next(numbers)}", is_staff=True)
    found = Permission.objects.filter(content_type__app_label="poppy_operations")
    user.user_permissions.set(found.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def text(response: Any) -> str:
    assert response.status_code == 200, response
    content: str = response.content.decode()
    return content


def listed_ids(response: Any) -> set[str]:
    return set(re.findall(r"\bop_\d+\b", text(response)))


def mark(client: Client) -> None:
    session = client.session
    session[marks.MARK] = True
    session.save()
