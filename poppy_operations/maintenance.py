"""What a site runs from time to time, and what its operators decide.

Purge, reconcile, requeue and a list of what is stuck; settle and revoke. Management commands, tasks
and the admin are thin wrappers of these functions.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpResponseBase, JsonResponse
from django.utils import timezone

from poppy_operations.browser.joins import end_joins_of, purge_joins
from poppy_operations.declarations import NotPerformed, Performed
from poppy_operations.discovery import action_called
from poppy_operations.gate.approvals import current_operation
from poppy_operations.gate.stored import as_sent, stored_answer
from poppy_operations.gate.worker import enqueue
from poppy_operations.lifecycle import performing, purging
from poppy_operations.lifecycle.durable import Busy, using
from poppy_operations.lifecycle.performing import StoredAnswer
from poppy_operations.lifecycle.settling import can_settle, ended_or_over, settle
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
    joins = purge_joins(moment - purging.MARGIN, dry_run=dry_run, batch=batch)
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


def requeue(*, now: datetime | None = None, dry_run: bool = False) -> int:
    """Enqueue again the queued attempts that no worker has started for a minute.

    The message may have been lost, or its process died between the claim and the queue. A second
    message of the same attempt finds it started, and does nothing. A queue that takes nothing is
    logged, and tried again the next time. With ``dry_run`` they are only counted.
    """
    moment = now or timezone.now()
    begun_before = moment - WAITING + performing.QUEUE_LEASE
    waiting = Operation.objects.using(using()).filter(
        state=Operation.State.PERFORMING,
        started_at=None,
        lease_until__gte=moment,
        lease_until__lt=begun_before,
    )
    if dry_run:
        return waiting.count()
    number = 0
    for operation in _all(waiting):
        try:
            enqueue(operation.operation_id, operation.attempt)
        except Exception:
            logger.exception("The queue takes no attempts; %d were enqueued again.", number)
            break
        number += 1
    return number


def _over(now: datetime) -> QuerySet[Operation]:
    """Attempts that ended as unknown, or whose lease is over."""
    return (
        Operation.objects.using(using())
        .select_related("approval__revision__operation")
        .filter(ended_or_over(now), state=Operation.State.PERFORMING)
    )


def _all(found: QuerySet[Operation]) -> Iterator[Operation]:
    """Read in batches by key: a cursor would keep a connection that a pool lends to others."""
    last = 0
    while batch := list(found.filter(pk__gt=last).order_by("pk")[:BATCH]):
        yield from batch
        last = batch[-1].pk


def reconcile(*, now: datetime | None = None, dry_run: bool = False) -> Reconciled:
    """Ask each external action what became of the attempts that nobody knows the end of.

    Each is read again just before, so that no hook is asked while another attempt runs. An error
    in a hook means still unknown. Attempts that lapsed, which did nothing, are freed. With
    ``dry_run`` nobody is asked and nothing is freed.
    """
    ends: Counter[str] = Counter()
    for found in _all(_over(now or timezone.now())):
        moment = now or timezone.now()
        operation = _over(moment).filter(pk=found.pk).first()
        if operation is not None:
            ends[_would_end(operation, moment) if dry_run else _end_of(operation, moment)] += 1
    return Reconciled(**ends)


def _would_end(operation: Operation, now: datetime) -> str:
    return "freed" if performing.is_lapsed(operation, now) else "still_unknown"


def _end_of(operation: Operation, now: datetime) -> str:
    try:
        if performing.is_lapsed(operation, now):
            return "freed" if performing.free(operation, now) else "still_unknown"
        return _reconciled(operation, now)
    except Busy:
        _log(logging.WARNING, "The database was in the way of reconciling.", operation)
    except Exception as error:  # noqa: BLE001  whatever the site's hook does means still unknown
        _log(logging.ERROR, "The reconcile hook failed; still unknown.", operation, error)
    return "still_unknown"


def _reconciled(operation: Operation, now: datetime) -> str:
    action = action_called(operation.action)
    if action is None:
        _log(logging.WARNING, "An attempt's action is not declared; still unknown.", operation)
    hook = None if action is None else action.reconcile_hook
    if hook is None or operation.approval is None:
        return "still_unknown"
    found: object = hook(current_operation(operation.approval.revision, None))
    if found is None:
        return "still_unknown"
    answer = None if isinstance(found, NotPerformed) else answer_of(found, operation)
    how = Performance.How.RECONCILED
    if not settle(operation, answer, how=how, by="reconcile", because="", now=now):
        return "still_unknown"
    return "not_performed" if answer is None else "performed"


def _log(
    level: int, message: str, operation: Operation, error: BaseException | None = None
) -> None:
    extra = {"operation_id": operation.operation_id, "action": operation.action}
    logger.log(level, message, exc_info=error, extra=extra)


def answer_of(performed: object, operation: Operation) -> StoredAnswer:
    """What is stored as the answer of an operation that turned out to be performed.

    Raises ``TypeError`` for what is not ``Performed`` with a result that can be stored, and
    ``ValueError`` for an answer that reads as a failure.
    """
    if not isinstance(performed, Performed):
        message = f"It is Performed, NotPerformed or None, not {type(performed).__name__}."
        raise TypeError(message)
    on_website = operation.interface == Operation.Interface.WEBSITE
    result = performed.result
    if result is None:
        stored = StoredAnswer(performed.status)
    elif isinstance(result, HttpResponseBase):
        stored = stored_answer(as_sent(result), with_body=not on_website)
    else:
        response = JsonResponse(dict(result), status=performed.status)
        stored = stored_answer(response, with_body=not on_website)
    if not 200 <= stored.status < 400:
        message = f"An answer of status {stored.status} does not say that it was performed."
        raise ValueError(message)
    return stored


def settle_by_hand(
    operation: Operation,
    performed: Performed | None,
    *,
    by: str,
    because: str,
    void: Collection[UUID] = (),
    now: datetime | None = None,
) -> bool:
    """End an unknown outcome as a person found out; ``None``: it was not performed.

    ``operation`` is the row that the person looked at: another attempt since then is not judged.
    ``void`` names unused approvals of the operation to void in the same commit. False where there
    is nothing to settle any more, and then nothing was changed. Raises ``Busy``, and ``TypeError``
    or ``ValueError`` for a result that cannot be given as an answer.
    """
    answer = None if performed is None else answer_of(performed, operation)
    moment = now or timezone.now()
    if not can_settle(operation, moment):
        return False
    how = Performance.How.SETTLED
    return settle(operation, answer, how=how, by=by, because=because, now=moment, void=void)


def stuck(*, now: datetime | None = None) -> Sequence[Stuck]:
    """List the operations that do not end by themselves, the oldest first."""
    found = _stuck(now or timezone.now())
    return sorted(found, key=lambda item: item.since)


def _stuck(now: datetime) -> Iterator[Stuck]:
    for operation in _all(_over(now)):
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
    action = action_called(operation.action)
    if action is None:
        return "action gone"
    return "unknown outcome" if action.reconcile_hook else "no reconcile hook"


def as_json(result: Purged | Mapping[str, int] | Sequence[Stuck]) -> str:
    """Spell a result for machines."""
    if isinstance(result, Purged):
        return json.dumps(counts(result))
    if isinstance(result, Mapping):
        return json.dumps(dict(result))
    return json.dumps([asdict(item) for item in result])
