"""How an attempt ends: performed, with the answer to give again, or with an unknown outcome (7)."""

from __future__ import annotations

import json
from datetime import datetime
from enum import Enum

from poppy_operations.lifecycle.claims import given_attempt, of_attempt, rows_of
from poppy_operations.lifecycle.durable import durably
from poppy_operations.models import Approval, Operation, Performance, Revision
from poppy_operations.models.databases import write_alias
from poppy_operations.models.inserting import insert
from poppy_operations.models.statements import Change, Changing
from poppy_operations.protocol.interfaces import interface_called
from poppy_operations.protocol.stored_answer import StoredAnswer
from poppy_operations.signals import operation_performed, outcome_unknown, tell


class Finish(Enum):
    """How an attempt ended: it was current, it had been given up, or it came after another."""

    FINISHED = "finished"
    LATE = "late"
    LOST = "lost"


_ENDS: dict[str | None, Finish] = {
    Performance.How.FINISHED: Finish.FINISHED,
    Performance.How.LATE: Finish.LATE,
}


def finish(
    operation: Operation,
    approval: Approval,
    answer: StoredAnswer,
    *,
    attempt: str,
    now: datetime,
) -> bool:
    """Finish a database attempt, inside the transaction of its effects.

    False if the attempt was taken over: the caller then rolls everything back.
    """
    finished = _finish_attempt(operation, attempt)
    if finished:
        store_performance(
            operation, approval, answer, attempt=attempt, now=now, how=Performance.How.FINISHED
        )
    return finished


def _finish_attempt(operation: Operation, attempt: str) -> bool:
    return bool(_FINISH.rows(operation.interface, id=operation.pk, attempt=attempt))


def finish_external(
    operation: Operation,
    approval: Approval,
    answer: StoredAnswer,
    *,
    attempt: str,
    now: datetime,
) -> Finish:
    """Finish an external attempt in a commit of its own; what happened is never rolled back.

    ``LATE``: the attempt had been given up, and the operation is performed all the same.
    ``LOST``: the operation was performed already. The caller reports both loudly.
    """

    def write() -> Finish:
        late = rows_of(operation).exclude(state=Operation.State.PERFORMED)
        if _finish_attempt(operation, attempt):
            how, end = Performance.How.FINISHED, Finish.FINISHED
        elif late.update(**performed_changes(operation.interface)):
            how, end = Performance.How.LATE, Finish.LATE
        else:
            return _ended_before(operation, attempt)
        store_performance(operation, approval, answer, attempt=attempt, now=now, how=how)
        return end

    return durably(write)


def _ended_before(operation: Operation, attempt: str) -> Finish:
    """How it ended: perhaps the first try of this very write took effect, though it seemed lost."""
    performed = Performance.objects.using(write_alias()).filter(
        operation=operation, attempt=attempt
    )
    how = performed.values_list("how", flat=True).first()
    return _ENDS.get(how, Finish.LOST)


def performed_changes(interface: str) -> dict[str, object]:
    """The changes of an operation that was performed. In some interfaces it keeps its slot."""
    changes: dict[str, object] = {
        "state": Operation.State.PERFORMED,
        "outcome_unknown_since": None,
        "lease_until": None,
    }
    keeps_slot = interface_called(interface).keeps_slot
    return changes if keeps_slot else {**changes, "slot": None}


_FINISH = Changing(lambda interface: Change(given_attempt(), performed_changes(interface)))


def store_performance(
    operation: Operation,
    approval: Approval,
    answer: StoredAnswer,
    *,
    attempt: str,
    now: datetime,
    how: str,
) -> Performance:
    """Keep the answer, to give it again (7)."""
    performance = Performance(
        operation=operation,
        revision_id=approval.revision_id,
        approval=approval,
        attempt=attempt,
        how=how,
        status=answer.status,
        headers=json.dumps([list(pair) for pair in answer.headers]),
        body=answer.body,
        finished_at=now,
    )
    insert(performance)
    return performance


def tell_performed(revision: Revision, approval: Approval, *, late: bool = False) -> None:
    """Tell the receivers of ``operation_performed``, after the commit of what finished it."""
    operation = revision.operation
    operation.state = Operation.State.PERFORMED
    performance = operation.performance
    approval.operation, approval.revision, performance.revision = operation, revision, revision
    tell(
        operation_performed,
        operation=operation,
        revision=revision,
        approval=approval,
        performance=performance,
        late=late,
    )


def mark_unknown(operation: Operation, attempt: str, now: datetime) -> bool:
    """Note that nobody knows whether an external attempt took effect."""
    claimed = of_attempt(operation, attempt)
    marked = bool(durably(lambda: claimed.update(outcome_unknown_since=now)))
    if marked:
        operation.state = Operation.State.PERFORMING
        operation.outcome_unknown_since = now
        tell(outcome_unknown, operation=operation, attempt=attempt)
    return marked
