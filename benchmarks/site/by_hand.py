"""By hand: a view that reads and writes the very rows that we do, in plain ORM.

The delegation is known, nothing is compared and nothing can go wrong: eight statements.
"""

from __future__ import annotations

import json
import secrets
from datetime import timedelta

from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.site.floor import approved
from benchmarks.site.operations import take
from benchmarks.site.tokens import session_and_token
from poppy_operations.models import Agent, Approval, Operation, Performance, Revision


class ByHandOrder(APIView):
    """An order that leaves the same rows behind as ours."""

    authentication_classes = ()
    permission_classes = ()

    def post(self, request: Request) -> Response:
        """Read who asks and what was approved, claim it, act and store the answer."""
        session, token = session_and_token(request, cached=True)
        Agent.objects.get(client_id=session["iss"])
        get_user_model().objects.get(pk=token["sub"])
        said = approved(request)
        revision = Revision.objects.select_related(
            "operation", "operation__performance__revision", "record"
        ).get(operation__operation_id=said["operation_id"], revision=said["revision"])
        operation, attempt = revision.operation, secrets.token_hex(16)
        approval = Approval(
            operation=operation,
            revision=revision,
            approver=said["approver"],
            sid=session["sid"],
            received_at=timezone.now(),
        )
        _claim(operation, approval, attempt)
        with transaction.atomic():
            answer = take(json.loads(revision.terms))
            _finish(operation, approval, attempt, answer)
        return Response(answer, status=201)


def _claim(operation: Operation, approval: Approval, attempt: str) -> None:
    now = timezone.now()
    with transaction.atomic():
        Operation.objects.filter(pk=operation.pk, state="open", attempt=operation.attempt).update(
            state="performing",
            attempt=attempt,
            approval=approval.pk,
            effects="database",
            lease_s=60,
            lease_until=now + timedelta(seconds=60),
            started_at=now,
        )
        approval.save(force_insert=True)


def _finish(
    operation: Operation, approval: Approval, attempt: str, answer: dict[str, object]
) -> None:
    Operation.objects.filter(pk=operation.pk, state="performing", attempt=attempt).update(
        state="performed", slot=None, lease_until=None
    )
    Performance.objects.create(
        operation=operation,
        revision_id=approval.revision_id,
        approval=approval,
        attempt=attempt,
        status=201,
        headers=json.dumps([["Content-Type", "application/json"]]),
        body=json.dumps(answer).encode(),
        finished_at=timezone.now(),
    )
