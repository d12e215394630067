"""Performing in the background: a claim that is queued, and a worker that starts it once (7)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db.models import Q
from django.utils.module_loading import import_string

from poppy_operations.conf import conf
from poppy_operations.declarations.callables import require_hook
from poppy_operations.declarations.current import ApprovedOperation
from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.declarations.outcomes import NotPerformed, Verdict
from poppy_operations.declarations.terms import Terms
from poppy_operations.discovery import action_called
from poppy_operations.gate.answers import Lost, Outcome, SiteAnswer
from poppy_operations.gate.approvals import current_operation
from poppy_operations.gate.callers import Caller
from poppy_operations.gate.calls import Job
from poppy_operations.gate.door import Results
from poppy_operations.gate.performing.attempt import Attempt, begun, of_the_other
from poppy_operations.gate.performing.external import perform_external
from poppy_operations.gate.performing.in_database import perform_in_database
from poppy_operations.gate.sync_and_async import Steps, database, drive
from poppy_operations.lifecycle import queueing
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.logs import about, log_of
from poppy_operations.models import Operation
from poppy_operations.models.databases import write_alias
from poppy_operations.protocol.interfaces import interface_called
from poppy_operations.sessions.agents import revoked_client_ids


def perform_queued(attempt: Attempt) -> Steps[Outcome]:
    """Claim the operation, and hand the attempt to a worker after the commit.

    If the last worker did not perform the operation, what the action said is the answer, once; the
    next repeat is handed over again.
    """
    said = yield from database(partial(_said_before, attempt))
    if said is not None:
        return said
    lost = yield from begun(attempt)
    if lost is not None:
        return lost
    yield from database(partial(_enqueue, attempt))
    return (yield from database(partial(of_the_other, attempt)))


def _said_before(attempt: Attempt) -> SiteAnswer | Lost | None:
    said = queueing.worker_answer(attempt.operation, attempt.revision)
    if said is None:
        return None
    if not queueing.take_worker_answer(attempt.operation):
        return Lost()
    return SiteAnswer(attempt.job.results.again(said))


class NotQueued(Busy):
    """The queue did not take an attempt, and nothing was performed. The log says so already."""


def hand_over(operation_id: str, attempt: str) -> None:
    """Hand an attempt to the queue. Raises whatever the queue raises."""
    put: Callable[[str, str], object] = import_string(conf.queue)
    require_hook(f"The queue {conf.queue}", put, "an operation_id", "an attempt")
    put(operation_id, attempt)


def _enqueue(attempt: Attempt) -> None:
    try:
        hand_over(attempt.operation.operation_id, attempt.token)
    except Exception as error:
        attempt.log(logging.ERROR, "The queue did not take an attempt.", error)
        # The message may be on its way all the same. It then finds nothing to start; or else a
        # worker was faster, and the request is answered with what became of the attempt.
        if queueing.release_unstarted(attempt.operation, attempt.token):
            raise NotQueued from error


class _Work:
    """What a worker asks an action, and what the action said if it did nothing."""

    def __init__(
        self, action: DeclaredAction, current: ApprovedOperation, results: Results, request: Any
    ) -> None:
        self.action = action
        self.request = request
        self.current = current
        self.results = results
        self.said: Any = None

    def still(self) -> Any:
        """What the action would do now; the approved terms if there is no ``still=``."""
        if self.action.still is None:
            return Terms(self.current.terms)
        try:
            found = self.action.still(self.current)
        except NotPerformed as said:
            found = said
        if isinstance(found, NotPerformed):
            self.said = self.results.nothing_happened(found)
            return self.said
        return found

    def perform(self) -> Any:
        """Perform the action. Raises ``NotPerformed``, and whatever the action raised."""
        if self.action.perform is None:
            self.log(logging.WARNING, "The action of a queued attempt has no perform= any more.")
            raise NotPerformed
        if self.action.effects == "external":
            self.ensure_still()
        try:
            result = self.results.final(self.action.perform(self.current))
        except NotPerformed as said:
            self.said = self.results.nothing_happened(said)
            raise
        if self.results.verdict(result) is not Verdict.PERFORMED:
            self.said = result
        return result

    def ensure_still(self) -> None:
        """Look again before anything reaches outside. Raises ``NotPerformed``."""
        try:
            found = self.still()
            holds = isinstance(found, Terms) and found.text == Terms(self.current.terms).text
        except Exception as error:
            # Not an unknown outcome: nothing has happened yet.
            self.log(logging.ERROR, "still= failed; nothing was performed.", error)
            raise NotPerformed from error
        if not holds:
            raise NotPerformed(self.said)

    def log(self, level: int, message: str, error: Exception | None = None) -> None:
        log_of(
            level,
            message,
            operation_id=self.current.operation_id,
            action=self.action.name,
            error=error,
            request=self.request,
        )


@dataclass(frozen=True)
class _Started(Attempt):
    """An attempt that was claimed before, and that this worker is to start."""

    work: _Work

    def begin(self) -> bool:
        return queueing.start(self.operation, self.token, self.job.now)

    def withdraw(self) -> None:
        """Do nothing: a second message of the same attempt may have started it meanwhile."""

    def release(self) -> bool | None:
        """Open the operation again, and log it: no request waits for an answer."""
        self.log(logging.WARNING, "A worker started an attempt, and did not perform it.")
        return super().release()

    def said_for_repeat(self) -> str | None:
        """What the action said, for the next repeat."""
        if self.work.said is None:
            return None
        results = self.job.results
        try:
            answer = results.stored(results.final(self.work.said), with_body=True)
        except Exception as error:  # noqa: BLE001  a page that fails keeps nobody from repeating
            self.log(logging.ERROR, "What a worker's action said could not be kept.", error)
            return None
        return queueing.worker_answer_text(self.revision, answer)


def perform_handed_over(operation_id: str, attempt: str, results: Results, request: Any) -> bool:
    """Perform a queued attempt in a worker, as ``background.perform_attempt`` tells sites."""
    operation = (
        Operation.objects.using(write_alias())
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
    if (operation.operation_id, operation.attempt) != (operation_id, attempt):
        return False  # A case-insensitive collation finds other spellings.
    if operation.is_revoked:
        _log(operation, "The agent of a queued attempt was revoked; nothing is performed.")
        queueing.release_unstarted(operation, attempt)
        return False
    action = _action_of(operation)
    if action is None:
        return False
    revision = operation.approval.revision
    current = current_operation(revision, None)
    work = _Work(action, current, results, request)
    job = Job(
        action=action,
        results=results,
        terms=work.still,
        body=lambda _current: work.perform(),
        request=request,
    )
    caller = Caller(interface_called(operation.interface), operation.owner)
    started = _Started(job, caller, revision, operation.approval, attempt, current, work)
    in_database = operation.effects == Operation.Effects.DATABASE
    try:
        outcome = drive(perform_in_database(started) if in_database else perform_external(started))
    except Exception as error:
        level = logging.WARNING if isinstance(error, Busy) else logging.ERROR
        started.log(level, "A worker's attempt failed; it may be tried again.", error)
        raise
    return not isinstance(outcome, Lost)


def _action_of(operation: Operation) -> DeclaredAction | None:
    """The action of a queued attempt; ``None`` if it is gone, or has other effects by now."""
    action = action_called(operation.action)
    if action is None:
        # A worker of an older or newer release; the queue's lease ends what nobody can perform.
        _log(operation, "A worker does not know the action of a queued attempt.")
    elif action.effects != operation.effects:
        _log(operation, "A queued attempt was begun for other effects than its action has now.")
        queueing.release_unstarted(operation, operation.attempt)
        return None
    return action


def _log(operation: Operation, message: str) -> None:
    log_of(logging.WARNING, message, **about(operation))
