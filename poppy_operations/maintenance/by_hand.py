"""What a person found out about an unknown outcome."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.http import HttpResponseBase, JsonResponse

from poppy_operations.declarations.outcomes import Performed
from poppy_operations.lifecycle.settling import can_settle, settle
from poppy_operations.models import Operation, Performance
from poppy_operations.models.instants import instant
from poppy_operations.protocol.interfaces import interface_called
from poppy_operations.protocol.stored_answer import StoredAnswer
from poppy_operations.site_responses import as_sent, stored_answer


def answer_of(performed: object, operation: Operation) -> StoredAnswer:
    """The answer to store for an operation that turned out to be performed.

    Raises ``TypeError`` if ``performed`` is not ``Performed`` with a result that can be stored, and
    ``ValueError`` if the answer reads as a failure.
    """
    if not isinstance(performed, Performed):
        kind = type(performed).__name__
        message = f"A reconcile hook returns Performed, NotPerformed or None, not {kind}."
        raise TypeError(message)
    with_body = interface_called(operation.interface).stores_body
    result = performed.result
    if result is None:
        stored = StoredAnswer(performed.status)
    elif isinstance(result, HttpResponseBase):
        stored = stored_answer(as_sent(result), with_body=with_body)
    else:
        response = JsonResponse(dict(result), status=performed.status)
        stored = stored_answer(response, with_body=with_body)
    if not 200 <= stored.status < 400:
        message = f"An answer of status {stored.status} does not say that the action was performed."
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
    """End an unknown outcome as a person found out; ``performed`` is ``None`` if it was not.

    ``operation`` is the row that the person looked at: an attempt that began since then is not
    judged. ``void`` names unused approvals of the operation to void in the same commit. False, and
    nothing is changed, if there is nothing to settle any more. Raises ``Busy`` if the database is
    locked, unreachable or read-only, and ``TypeError`` or ``ValueError`` if the result cannot be
    given as an answer.
    """
    answer = None if performed is None else answer_of(performed, operation)
    moment = instant(now)
    if not can_settle(operation, moment):
        return False
    how = Performance.How.SETTLED
    return settle(operation, answer, how=how, by=by, because=because, now=moment, void=void)
