"""Rows to try transitions on, and a database that is in the way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection
from django.dispatch import Signal

from poppy_operations.lifecycle.approving import stated
from poppy_operations.lifecycle.asking import Asked, return_operation
from poppy_operations.lifecycle.claims import begin
from poppy_operations.models import Approval, Operation, Revision
from poppy_operations.models.databases import write_alias
from poppy_operations.protocol.approval import ApprovalStatement
from poppy_operations.protocol.canonical import digest
from poppy_operations.protocol.owner import Owner
from poppy_operations.protocol.stored_answer import StoredAnswer

NOW = datetime(2026, 10, 8, 19, 0, 0, 700_000, UTC)
SECOND = timedelta(seconds=1)
OWNER = Owner("https://agent.example/client", "u1", None)
ANSWER = StoredAnswer(201, [("Location", "/done/")], b"{}")
MINE, OTHER = "a" * 32, "b" * 32
ASKED = Asked(
    action="shop.buy",
    prefix="buy",
    interface="api",
    owner=OWNER,
    conversation="",
    slot=digest("slot"),
    terms='{"amount":"70.00"}',
    terms_digest=digest("terms"),
    target_digest=digest("target"),
    raw_digest=digest("raw"),
    content_digest=digest("content"),
    content_fields={"sku": "0123"},
    summary="Buy it.",
    lifetime=timedelta(minutes=15),
)


def returned(**changes: Any) -> Revision:
    """An operation that was just returned, with its first revision."""
    revision = return_operation(replace(ASKED, **changes), NOW)
    assert revision is not None
    return revision


def statement_of(revision: Revision, approver: str = "user") -> ApprovalStatement:
    """What an agent says of a revision that it approves."""
    return ApprovalStatement(
        revision.operation.operation_id, revision.revision, approver, 1791487260, "tap", "apr_1"
    )


def approval_of(revision: Revision, approver: str = "user") -> Approval:
    """An approval that is not stored yet, as an API's is."""
    return stated(statement_of(revision, approver), revision, sid="ses_1", now=NOW)


def read(row: Any) -> Any:
    """A row as it is stored now."""
    return type(row).objects.using(write_alias()).get(pk=row.pk)


def facts(operation: Operation) -> dict[str, Any]:
    """Every column of an operation that a transition may set, as it is stored now."""
    names = (
        "state attempt approval_id effects lease_s lease_until enqueued_at started_at"
        " outcome_unknown_since slot revision_count refusal"
    )
    row = read(operation)
    return {name: getattr(row, name) for name in names.split()}


def begun(revision: Revision, *, effects: str = "database", **options: Any) -> Approval:
    """Begin an attempt, ``MINE`` unless it is said otherwise; its approval is given back."""
    approval = options.pop("approval", None) or approval_of(revision)
    options = {"attempt": MINE, "lease_s": 60, "now": NOW, **options}
    assert begin(read(revision.operation), approval, effects=effects, **options)
    result: Approval = approval
    return result


@dataclass
class Told:
    """What a signal told, and in which state the rows were then."""

    calls: list[dict[str, Any]] = field(default_factory=list)
    stored: list[str] = field(default_factory=list)
    in_transaction: list[bool] = field(default_factory=list)
    depth: int = 0

    def __call__(self, sender: type, operation: Operation, **named: Any) -> None:
        assert sender is Operation
        self.calls.append({"operation": operation, **named})
        self.stored.append(read(operation).state)
        # Beside the transaction of the test itself, if it has one.
        self.in_transaction.append(len(connection.savepoint_ids) > self.depth)


@contextmanager
def told_by(signal: Signal, *, and_fails: bool = False) -> Iterator[Told]:
    """Listen to a signal, beside a receiver that fails where it is said so."""

    def failing(**named: Any) -> None:
        message = "a receiver of the site's"
        raise RuntimeError(message)

    told = Told(depth=len(connection.savepoint_ids))
    signal.connect(told)
    if and_fails:
        signal.connect(failing)
    try:
        yield told
    finally:
        signal.disconnect(told)
        signal.disconnect(failing)
