"""What a site runs from time to time: purge, reconcile, and a list of what is stuck.

Management commands and tasks are one-line wrappers of these functions.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpResponseBase
from django.utils import timezone

from poppy_operations.browser.joins import end_joins_of, purge_joins
from poppy_operations.declarations import NotPerformed, Performed, registry
from poppy_operations.gate.approvals import current_operation
from poppy_operations.gate.stored import stored_answer
from poppy_operations.gate.worker import enqueue
from poppy_operations.lifecycle import performing, purging
from poppy_operations.lifecycle.durable import Busy, using
from poppy_operations.lifecycle.performing import StoredAnswer
from poppy_operations.lifecycle.settling import settle
from poppy_operations.models import Agent, Operation, Performance
from poppy_operations.sessions.agents import revoke_agent

logger = logging.getLogger("poppy_operations")

BATCH = 500
WAITING = timedelta(minutes=1)


@dataclass(frozen=True)
class Purged:
    """How many operations and browser joins were forgotten, or would be."""

    operations: int
    joins: int


@dataclass(frozen=True)
class Reconciled:
    """How the attempts that could be judged ended."""

    performed: int = 0
    not_performed: int = 0
    still_unknown: int = 0
    freed: int = 0


@dataclass(frozen=True)
class Stuck:
    """An operation that does not end by itself; ``why`` says what it waits for."""

    operation_id: str
    action: str
    interface: str
    since: str
    why: str


def counts(result: Purged | Reconciled) -> dict[str, int]:
    """Give the figures of a result by name."""
    return asdict(result)


def purge(*, now: datetime | None = None, dry_run: bool = False, batch: int = BATCH) -> Purged:
    """Forget operations a day after all their revisions expired, in small batches.

    Whatever is performing or of unknown outcome stays, and so does every performed operation that
    an unexpired approval could still name. With ``dry_run`` nothing is deleted.
    """
    moment = now or timezone.now()
    joins = purge_joins(moment - purging.MARGIN, dry_run=dry_run)
    if dry_run:
        return Purged(purging.forgettable(moment).count(), joins)
    operations = 0
    while forgotten := purging.forget(moment, batch):
        operations += forgotten
    return Purged(operations, joins)


def revoke(client_id: str, *, now: datetime | None = None) -> Agent:
    """Revoke an agent: its Sessions are refused from now on, and its browsers' joins are over.

    They stay over should the agent be allowed again. Raises ``UnknownAgent``.
    """
    agent = revoke_agent(client_id)
    end_joins_of(agent, now or timezone.now())
    return agent


def requeue(*, now: datetime | None = None) -> int:
    """Enqueue again the queued attempts that no worker has started for a minute.

    The message may have been lost, or its process died between the claim and the queue. A second
    message of the same attempt finds it started, and does nothing.
    """
    moment = now or timezone.now()
    begun_before = moment - WAITING + performing.QUEUE_LEASE
    waiting = Operation.objects.using(using()).filter(
        state=Operation.State.PERFORMING,
        started_at=None,
        lease_until__gte=moment,
        lease_until__lt=begun_before,
    )
    number = 0
    for operation_id, attempt in waiting.values_list("operation_id", "attempt").iterator():
        enqueue(operation_id, attempt)
        number += 1
    return number


def _over(now: datetime) -> QuerySet[Operation]:
    """Attempts that ended as unknown, or whose lease is over."""
    return (
        Operation.objects.using(using())
        .select_related("approval__revision__operation")
        .filter(state=Operation.State.PERFORMING)
        .filter(Q(outcome_unknown_since__isnull=False) | Q(lease_until__lt=now))
        .order_by("pk")
    )


def reconcile(*, now: datetime | None = None, dry_run: bool = False) -> Reconciled:
    """Ask each external action what became of the attempts that nobody knows the end of.

    Database attempts whose lease is over are freed. An error in a hook means still unknown. With
    ``dry_run`` hooks are not asked and nothing is freed.
    """
    moment = now or timezone.now()
    ends = {"performed": 0, "not_performed": 0, "still_unknown": 0, "freed": 0}
    for operation in _over(moment).iterator(chunk_size=BATCH):
        if dry_run:
            ends["still_unknown"] += 1
            continue
        try:
            ends[_end_of(operation, moment)] += 1
        except Busy:
            logger.warning("The database was in the way of reconciling %s.", operation)
            ends["still_unknown"] += 1
    return Reconciled(**ends)


def _end_of(operation: Operation, now: datetime) -> str:
    if performing.is_lapsed(operation, now):
        return "freed" if performing.free(operation, now) else "still_unknown"
    found = _found_out(operation)
    if found is None:
        return "still_unknown"
    answer = None if isinstance(found, NotPerformed) else answer_of(found, operation)
    how = Performance.How.RECONCILED
    settled = settle(operation, answer, how=how, by="reconcile", because="", now=now)
    if not settled:
        return "still_unknown"
    return "not_performed" if answer is None else "performed"


def _found_out(operation: Operation) -> Performed | NotPerformed | None:
    action = registry.get(operation.action)
    hook = None if action is None else action.reconcile_hook
    approval = operation.approval
    if hook is None or approval is None:
        return None
    try:
        return hook(current_operation(approval.revision, None))
    except Exception:
        logger.exception(
            "The reconcile hook failed; the outcome is still unknown.",
            extra={"operation_id": operation.operation_id, "action": operation.action},
        )
        return None


def answer_of(performed: Performed, operation: Operation) -> StoredAnswer:
    """What is stored as the answer of an operation that turned out to be performed."""
    result = performed.result
    on_website = operation.interface == Operation.Interface.WEBSITE
    if isinstance(result, HttpResponseBase):
        return stored_answer(result, with_body=not on_website)
    if result is None or on_website:
        return StoredAnswer(performed.status)
    headers = (("Content-Type", "application/json"),)
    return StoredAnswer(performed.status, headers, json.dumps(result).encode())


def stuck(*, now: datetime | None = None) -> Sequence[Stuck]:
    """List the operations that do not end by themselves, the oldest first."""
    return list(_stuck(now or timezone.now()))


def _stuck(now: datetime) -> Iterator[Stuck]:
    for operation in _over(now).iterator(chunk_size=BATCH):
        since = operation.outcome_unknown_since or operation.lease_until
        yield Stuck(
            operation_id=operation.operation_id,
            action=operation.action,
            interface=operation.interface,
            since="" if since is None else since.isoformat(),
            why=_why(operation, now),
        )


def _why(operation: Operation, now: datetime) -> str:
    if performing.is_lapsed(operation, now):
        return "lapsed"
    action = registry.get(operation.action)
    if action is None:
        return "action gone"
    return "unknown outcome" if action.reconcile_hook else "no reconcile hook"


def as_json(result: Any) -> str:
    """Spell a result for machines."""
    if isinstance(result, Purged | Reconciled):
        return json.dumps(counts(result))
    return json.dumps([asdict(item) for item in result])
