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
from poppy_operations.declarations.current import CurrentOperation
from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.declarations.outcomes import NotPerformed
from poppy_operations.declarations.terms import Terms
from poppy_operations.discovery import action_called
from poppy_operations.gate.answers import SiteAnswer
from poppy_operations.gate.approvals import current_operation
from poppy_operations.gate.callers import Caller
from poppy_operations.gate.calls import Call, SiteTerms
from poppy_operations.gate.performing.attempt import (
    Lost,
    Outcome,
    Run,
    answer_of,
    begun,
    of_the_other,
)
from poppy_operations.gate.performing.external import perform_outside
from poppy_operations.gate.performing.in_database import perform_in_database
from poppy_operations.gate.stored import as_sent, says_performed, sent_again, stored_answer
from poppy_operations.gate.sync_and_async import Steps, database, run
from poppy_operations.lifecycle import queueing
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.logs import about, log_of
from poppy_operations.models import Operation
from poppy_operations.models.databases import write_alias
from poppy_operations.sessions.agents import revoked_client_ids


def perform_queued(attempt: Run) -> Steps[Outcome]:
    """Claim the operation, and hand the attempt to a worker after the commit.

    Where the last worker refused, that is the answer, once; the next repeat is handed over again.
    """
    refused = yield from database(partial(_refused, attempt))
    if refused is not None:
        return refused
    if not (yield from begun(attempt)):
        return Lost()
    yield from database(partial(_enqueue, attempt))
    return (yield from database(partial(of_the_other, attempt)))


def _refused(attempt: Run) -> SiteAnswer | Lost | None:
    refusal = queueing.refusal_of(attempt.operation, attempt.revision)
    if refusal is None:
        return None
    if not queueing.take_refusal(attempt.operation):
        return Lost()
    return SiteAnswer(sent_again(refusal))


class NotQueued(Busy):
    """The queue did not take an attempt, and nothing was performed. The log says so already."""


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
        if queueing.release_unstarted(attempt.operation, attempt.attempt):
            raise NotQueued from error


class _Work:
    """What a worker asks an action, and what it answered where it did nothing."""

    def __init__(self, action: DeclaredAction, current: CurrentOperation) -> None:
        self.action = action
        self.current = current
        self.refusal: HttpResponseBase | None = None

    def still(self) -> SiteTerms:
        """What the action would do now; the terms themselves where the site cannot tell."""
        if self.action.still is None:
            return Terms(self.current.terms)
        try:
            found = self.action.still(self.current)
        except NotPerformed as said:
            found = said
        if isinstance(found, NotPerformed):
            self.refusal = answer_of(found)
            return self.refusal
        return found

    def perform(self, current: CurrentOperation) -> HttpResponseBase:
        """Perform it. Raises ``NotPerformed``, and whatever the action raised."""
        if self.action.perform is None:
            self.log(logging.WARNING, "The action of a queued attempt has no perform= any more.")
            raise NotPerformed
        if self.action.effects == "external":
            self.ensure_still()
        try:
            response = as_response(self.action.perform(current))
        except NotPerformed as said:
            self.refusal = answer_of(said)
            raise
        if not says_performed(response):
            self.refusal = response
        return response

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
            raise NotPerformed(self.refusal)

    def log(self, level: int, message: str, error: Exception | None = None) -> None:
        operation_id = self.current.operation_id or ""
        log_of(level, message, operation_id=operation_id, action=self.action.name, error=error)


@dataclass(frozen=True)
class _Started(Run):
    """An attempt that was claimed before, and that this worker is to start."""

    work: _Work

    def begin(self) -> bool:
        return queueing.start(self.operation, self.attempt, self.call.now)

    def withdraw(self) -> None:
        """Leave it: a second message of the same attempt may have started it meanwhile."""

    def release(self) -> bool | None:
        """Open the operation again, and say so: nobody is answered."""
        self.log(logging.WARNING, "A worker started an attempt, and did not perform it.")
        return super().release()

    def refusal(self) -> str | None:
        """What the action said, for the next repeat."""
        if self.work.refusal is None:
            return None
        try:
            final = as_sent(self.work.refusal)
            answer = stored_answer(final, with_body=True, with_html=True)
        except Exception as error:  # noqa: BLE001  a page that fails keeps nobody from repeating
            self.log(logging.ERROR, "The answer of a refused attempt could not be kept.", error)
            return None
        return queueing.refusal_text(self.revision, answer)


def perform_attempt(operation_id: str, attempt: str) -> bool:
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
    if operation.is_revoked:
        _log(operation, "The agent of a queued attempt was revoked; nothing is performed.")
        queueing.release_unstarted(operation, attempt)
        return False
    action = _action_of(operation)
    if action is None:
        return False
    revision = operation.approval.revision
    current = current_operation(revision, None)
    work = _Work(action, current)
    call = Call(
        action=action,
        request=HttpRequest(),
        content=_no_content,
        terms=work.still,
        body=work.perform,
    )
    caller = Caller(operation.interface, operation.owner)
    started = _Started(call, caller, revision, operation.approval, attempt, current, work)
    in_database = operation.effects == Operation.Effects.DATABASE
    try:
        outcome = run(perform_in_database(started) if in_database else perform_outside(started))
    except Exception as error:
        level = logging.WARNING if isinstance(error, Busy) else logging.ERROR
        started.log(level, "A worker's attempt failed; it may be tried again.", error)
        raise
    return not isinstance(outcome, Lost)


def _action_of(operation: Operation) -> DeclaredAction | None:
    """The action of a queued attempt, as long as it is still what was claimed for."""
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


def _no_content() -> Any:
    message = "A worker has no request to compare."
    raise NotImplementedError(message)


def as_response(result: HttpResponseBase | Mapping[str, Any] | None) -> HttpResponseBase:
    """Give the result of ``perform=`` the form of an answer."""
    if isinstance(result, HttpResponseBase):
        return result
    return HttpResponse(status=204) if result is None else JsonResponse(dict(result))
