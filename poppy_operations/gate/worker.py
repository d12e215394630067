"""Performing in the background: a claim that is queued, and a worker that starts it once (7)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.utils.module_loading import import_string

from poppy_operations.conf import conf
from poppy_operations.declarations import (
    CurrentOperation,
    DeclaredAction,
    NotPerformed,
    Terms,
)
from poppy_operations.discovery import action_called
from poppy_operations.gate.approvals import current_operation
from poppy_operations.gate.attempt import Lost, Outcome, Run, answer_of, begun, of_the_other
from poppy_operations.gate.callers import Caller
from poppy_operations.gate.calls import Call, SiteTerms
from poppy_operations.gate.in_database import perform_in_database
from poppy_operations.gate.outside import perform_outside
from poppy_operations.gate.steps import Steps, database, run
from poppy_operations.lifecycle import performing
from poppy_operations.lifecycle.durable import Busy, using
from poppy_operations.models import Operation
from poppy_operations.sessions.agents import revoked_client_ids

logger = logging.getLogger("poppy_operations")


def perform_queued(attempt: Run) -> Steps[Outcome]:
    """Claim the operation, and hand the attempt to a worker after the commit."""
    if not (yield from begun(attempt)):
        return Lost()
    yield from database(partial(_enqueue, attempt))
    return (yield from database(partial(of_the_other, attempt)))


def enqueue(operation_id: str, attempt: str) -> None:
    """Hand an attempt to the queue. Whatever goes wrong there is raised."""
    put: Callable[[str, str], object] = import_string(conf.queue)
    put(operation_id, attempt)


def _enqueue(attempt: Run) -> None:
    try:
        enqueue(attempt.operation.operation_id, attempt.attempt)
    except Exception as error:
        attempt.log(logging.ERROR, "The queue did not take an attempt.", error)
        # The message may be on its way all the same: its attempt then finds nothing to start,
        # unless a worker was faster, and whoever asks is told what became of it.
        if performing.release_unstarted(attempt.operation, attempt.attempt):
            message = "The queue did not take an attempt; nothing was performed."
            raise Busy(message) from error


@dataclass(frozen=True)
class _Started(Run):
    """An attempt that was claimed before, and that this worker is to start."""

    def begin(self) -> bool:
        return performing.start(self.operation, self.attempt, self.call.now)

    def withdraw(self) -> None:
        """Leave it: a second message of the same attempt may have started it meanwhile."""


def perform_attempt(operation_id: str, attempt: str) -> bool:
    """Perform a queued attempt in a worker. ``False``: it was started before, or it is over.

    A message that is delivered twice, or too late, does nothing. Raises ``Busy`` where the
    database is in the way, and whatever the action raised.
    """
    operation = (
        Operation.objects.using(using())
        .select_related("approval__revision__operation")
        .filter(
            operation_id=operation_id,
            attempt=attempt,
            state=Operation.State.PERFORMING,
            started_at=None,
        )
        .annotate(is_revoked=Q(client_id__in=revoked_client_ids()))
        .first()
    )
    if operation is None or operation.approval is None:
        return False
    if operation.is_revoked:
        _log(operation, "The agent of a queued attempt was revoked; nothing is performed.")
        performing.release_unstarted(operation, attempt)
        return False
    action = _action_of(operation)
    if action is None:
        return False
    revision = operation.approval.revision
    current = current_operation(revision, None)
    call = _call(action, current)
    caller = Caller(operation.interface, operation.owner)
    started = _Started(call, caller, revision, operation.approval, attempt, current)
    in_database = operation.effects == Operation.Effects.DATABASE
    outcome = run(perform_in_database(started) if in_database else perform_outside(started))
    return not isinstance(outcome, Lost)


def _action_of(operation: Operation) -> DeclaredAction | None:
    """The action of a queued attempt, as long as it is still what was claimed for."""
    action = action_called(operation.action)
    if action is None:
        # A worker of an older or newer release; the queue's lease ends what nobody can perform.
        _log(operation, "A worker does not know the action of a queued attempt.")
    elif action.effects != operation.effects:
        _log(operation, "A queued attempt was begun for other effects than its action has now.")
        performing.release_unstarted(operation, operation.attempt)
        return None
    return action


def _log(operation: Operation, message: str) -> None:
    extra = {"operation_id": operation.operation_id, "action": operation.action}
    logger.warning(message, extra=extra)


def _call(action: DeclaredAction, current: CurrentOperation) -> Call:
    return Call(
        action=action,
        request=HttpRequest(),
        content=_no_content,
        terms=partial(_still, action, current),
        body=partial(_perform, action),
    )


def _no_content() -> Any:
    message = "A worker has no request to compare."
    raise NotImplementedError(message)


def _still(action: DeclaredAction, current: CurrentOperation) -> SiteTerms:
    """What the action would do now; the terms themselves where the site cannot tell."""
    if action.still is None:
        return Terms(current.terms)
    try:
        found = action.still(current)
    except NotPerformed as said:
        found = said
    return answer_of(found) if isinstance(found, NotPerformed) else found


def _perform(action: DeclaredAction, current: CurrentOperation) -> HttpResponseBase:
    if action.perform is None:
        extra = {"operation_id": current.operation_id, "action": action.name}
        logger.warning("The action of a queued attempt has no perform= any more.", extra=extra)
        raise NotPerformed
    if action.effects == "external":
        _ensure_still(action, current)
    return as_response(action.perform(current))


def _ensure_still(action: DeclaredAction, current: CurrentOperation) -> None:
    """Look again before anything reaches outside. Raises ``NotPerformed``."""
    try:
        found = _still(action, current)
        holds = isinstance(found, Terms) and found.text == Terms(current.terms).text
    except Exception as error:
        # Not an unknown outcome: nothing has happened yet.
        extra = {"operation_id": current.operation_id, "action": action.name}
        logger.exception("still= failed; nothing was performed.", extra=extra)
        raise NotPerformed from error
    if not holds:
        raise NotPerformed


def as_response(result: HttpResponseBase | Mapping[str, Any] | None) -> HttpResponseBase:
    """Give the result of ``perform=`` the form of an answer."""
    if isinstance(result, HttpResponseBase):
        return result
    return HttpResponse(status=204) if result is None else JsonResponse(dict(result))
