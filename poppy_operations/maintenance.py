"""What a site runs from time to time, and what its operators decide.

Purge, reconcile, requeue and a list of what is stuck; settle and revoke. Management commands, tasks
and the admin are thin wrappers of these functions.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpResponseBase, JsonResponse
from django.urls import NoReverseMatch, reverse
from django.utils import timezone

from poppy_operations.browser.joins import end_joins_of, purge_joins
from poppy_operations.declarations import NotPerformed, Performed
from poppy_operations.discovery import action_called
from poppy_operations.gate.approvals import current_operation
from poppy_operations.gate.stored import as_sent, stored_answer
from poppy_operations.gate.worker import enqueue
from poppy_operations.lifecycle import performing, purging
from poppy_operations.lifecycle.durable import Busy, busy_where_in_the_way, durably, using
from poppy_operations.lifecycle.performing import StoredAnswer
from poppy_operations.lifecycle.settling import can_settle, ended_or_over, settle
from poppy_operations.logs import about, log_of
from poppy_operations.models import Agent, Operation, Performance
from poppy_operations.sessions.agents import revoke_agent, revoked_client_ids

logger = logging.getLogger("poppy_operations")

BATCH = 500
AGAIN_AFTER = timedelta(minutes=5)


@dataclass(frozen=True)
class Purged:
    """How many operations and browser joins were forgotten, or would be."""

    operations: int
    joins: int


@dataclass(frozen=True)
class Reconciled:
    """How the attempts that could be judged ended, and how many were enqueued again."""

    performed: int = 0
    not_performed: int = 0
    still_unknown: int = 0
    freed: int = 0
    requeued: int = 0


class Interrupted(Busy):
    """The database was in the way of maintenance; ``done`` is what was done before, and stays."""

    def __init__(self, done: Purged | Reconciled) -> None:
        super().__init__(done)
        self.done = done

    def __str__(self) -> str:
        numbers = (f"{name.replace('_', ' ')} {n}" for name, n in counts(self.done).items())
        done = f"Done before, and it stays: {', '.join(numbers)}."
        return f"The database was in the way: {self.__cause__}. {done}{self.advice}"


@dataclass(frozen=True)
class Stuck:
    """An operation that does not end by itself; ``why`` says what it waits for.

    Somebody has to find out what became of it, unless the next request frees it. ``admin_path`` is
    empty where the admin is not installed.
    """

    operation_id: str
    action: str
    interface: str
    since: datetime
    why: str
    needs_somebody: bool
    next_step: str
    idempotency_key: str
    client_id: str | None
    account: str | None
    admin_path: str


FIND_OUT = "Look for the idempotency key where the action reaches, then settle the operation."
NEXT_STEPS = {
    "unknown outcome": f"Run poppy_reconcile. If this stays, its hook does not know. {FIND_OUT}",
    "no reconcile hook": FIND_OUT,
    "action gone": f"The code declares no such action. {FIND_OUT}",
    "lapsed": "Nothing: the next request frees it, or poppy_reconcile.",
}


def counts(result: Purged | Reconciled) -> dict[str, int]:
    """Give the figures of a result by name."""
    return asdict(result)


def purge(*, now: datetime | None = None, dry_run: bool = False, batch: int = BATCH) -> Purged:
    """Forget operations a day after they ended and all revisions expired, in small batches.

    Whatever is performing or of unknown outcome stays, and so does every performed operation that
    an unexpired approval could still name. With ``dry_run`` nothing is deleted. Raises
    ``Interrupted``, which is ``Busy`` and says what was forgotten before.
    """
    moment = now or timezone.now()
    over = partial(purge_joins, moment - purging.MARGIN)
    done = Purged(0, 0)
    try:
        if dry_run:
            with busy_where_in_the_way():
                return Purged(purging.forgettable(moment).count(), over(dry_run=True))
        while joins := durably(partial(over, batch=batch)):
            done = replace(done, joins=done.joins + joins)
        while operations := purging.forget(moment, batch):
            done = replace(done, operations=done.operations + operations)
    except Busy as error:
        raise Interrupted(done) from error
    return done


def revoke(client_id: str, *, now: datetime | None = None) -> Agent:
    """Revoke an agent: its Sessions are refused from now on, and its browsers' joins are over.

    They stay over should the agent be allowed again. Raises ``UnknownAgent``, and ``Busy`` where
    the database is in the way: do it again then, for the joins may not be over.
    """
    with busy_where_in_the_way():
        agent = revoke_agent(client_id)
        end_joins_of(agent, now or timezone.now())
    return agent


def requeue(*, now: datetime | None = None, dry_run: bool = False) -> int:
    """Enqueue again the attempts that were enqueued five minutes ago and that no worker started.

    The message may have been lost, or its process died between the claim and the queue. A second
    message of the same attempt finds it started, and does nothing. However often this runs, and
    two at once, an attempt gets one message in five minutes. Those of revoked agents get none. A
    queue that takes nothing is logged, and tried again later. With ``dry_run`` they are only
    counted. Raises ``Busy`` where the database is in the way.
    """
    moment = now or timezone.now()
    waiting = (
        Operation.objects.using(using())
        .filter(
            state=Operation.State.PERFORMING,
            started_at=None,
            lease_until__gte=moment,
            enqueued_at__lte=moment - AGAIN_AFTER,
        )
        .exclude(client_id__in=revoked_client_ids())
    )
    if dry_run:
        return waiting.count()
    number = 0
    for operation in _all(waiting):
        if not performing.enqueue_again(operation, moment):
            continue
        try:
            enqueue(operation.operation_id, operation.attempt)
        except Exception:
            logger.exception("The queue takes no attempts; %d were enqueued again.", number)
            break
        number += 1
    return number


def _over(now: datetime) -> QuerySet[Operation]:
    """Attempts that ended as unknown, whose lease is over, or that lapsed in another way."""
    attempts = Operation.objects.using(using()).filter(state=Operation.State.PERFORMING)
    return attempts.filter(ended_or_over(now) | performing.lapsed(now))


def _all(found: QuerySet[Operation]) -> Iterator[Operation]:
    """Read in batches by key: a cursor would keep a connection that a pool lends to others."""
    last = 0
    while batch := list(found.filter(pk__gt=last).order_by("pk")[:BATCH]):
        yield from batch
        last = batch[-1].pk


def reconcile(*, now: datetime | None = None, dry_run: bool = False) -> Reconciled:
    """Ask each external action what became of the attempts that nobody knows the end of.

    Each is read again just before, so that no hook is asked while another attempt runs. An error
    in a hook means still unknown. Attempts that lapsed, which did nothing, are freed, and queued
    ones that no worker has started are enqueued again, as ``requeue`` does. With ``dry_run``
    nobody is asked and nothing is changed. Raises ``Interrupted``, which is ``Busy`` and says
    how attempts ended before.
    """
    ends: Counter[str] = Counter()
    try:
        with busy_where_in_the_way():
            ends.update(_would_end(now) if dry_run else _ends(now))
            ends["requeued"] = requeue(now=now, dry_run=dry_run)
    except Busy as error:
        raise Interrupted(Reconciled(**ends)) from error
    return Reconciled(**ends)


def _would_end(now: datetime | None) -> Iterator[str]:
    """Say what would end, as far as that is known without asking."""
    moment = now or timezone.now()
    for operation in _all(_over(moment)):
        yield "freed" if performing.is_lapsed(operation, moment) else "still_unknown"


def _ends(now: datetime | None) -> Iterator[str]:
    """End what can be ended, and say how."""
    for found in _all(_over(now or timezone.now()).only("pk")):
        moment = now or timezone.now()
        examined = _over(moment).select_related("approval__revision").filter(pk=found.pk)
        operation = examined.first()
        if operation is not None:
            end = _end_of(operation, moment)
            if end != "still_unknown":
                _log(logging.INFO, f"Reconciled: {end.replace('_', ' ')}.", operation)
            yield end


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
    revision = operation.approval.revision
    revision.operation = operation
    found: object = hook(current_operation(revision, None))
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
    log_of(level, message, **about(operation), error=error)


def answer_of(performed: object, operation: Operation) -> StoredAnswer:
    """What is stored as the answer of an operation that turned out to be performed.

    Raises ``TypeError`` for what is not ``Performed`` with a result that can be stored, and
    ``ValueError`` for an answer that reads as a failure.
    """
    if not isinstance(performed, Performed):
        kind = type(performed).__name__
        message = f"A reconcile hook returns Performed, NotPerformed or None, not {kind}."
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
    """List the operations that do not end by themselves, the oldest first. Raises ``Busy``."""
    moment = now or timezone.now()
    with busy_where_in_the_way():
        found = [_stuck(operation, moment) for operation in _all(_over(moment))]
    return sorted(found, key=lambda item: item.since)


def _stuck(operation: Operation, now: datetime) -> Stuck:
    why = _why(operation, now)
    return Stuck(
        operation_id=operation.operation_id,
        action=operation.action,
        interface=operation.interface,
        since=operation.outcome_unknown_since or operation.lease_until or now,
        why=why,
        needs_somebody=why != "lapsed",
        next_step=NEXT_STEPS[why],
        idempotency_key=operation.idempotency_key,
        client_id=operation.client_id,
        account=operation.account,
        admin_path=_admin_path(operation),
    )


def _admin_path(operation: Operation) -> str:
    try:
        return reverse("admin:poppy_operations_operation_change", args=(operation.pk,))
    except NoReverseMatch:
        return ""


def _why(operation: Operation, now: datetime) -> str:
    if performing.is_lapsed(operation, now):
        return "lapsed"
    action = action_called(operation.action)
    if action is None:
        return "action gone"
    return "unknown outcome" if action.reconcile_hook else "no reconcile hook"


def as_json(result: Purged | Reconciled | Sequence[Stuck]) -> str:
    """Spell a result for machines; a time as ISO 8601."""
    if isinstance(result, Purged | Reconciled):
        return json.dumps(counts(result))
    return json.dumps([asdict(item) for item in result], default=datetime.isoformat)
