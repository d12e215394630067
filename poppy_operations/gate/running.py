"""Claim, run, record: the action runs inside a claim that is committed before it (7)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from django.core.signals import got_request_exception
from django.db import (
    DatabaseError,
    InterfaceError,
    OperationalError,
    connections,
    transaction,
)
from django.http import HttpResponse, HttpResponseBase

from poppy_operations.browser.atomic import switched_off_aliases
from poppy_operations.declarations import CurrentOperation, NotPerformed, Terms
from poppy_operations.gate.answers import Answer, PlainlyPerformed, Replay, SiteAnswer
from poppy_operations.gate.approvals import current_operation, still_performing
from poppy_operations.gate.calls import Call
from poppy_operations.gate.callers import Caller
from poppy_operations.gate.steps import Steps, database, site
from poppy_operations.gate.stored import says_performed, stored_answer
from poppy_operations.lifecycle import performing
from poppy_operations.lifecycle.durable import Busy, enter_outermost, is_contention, using
from poppy_operations.lifecycle.performing import Finish, StoredAnswer
from poppy_operations.models import Approval, Operation, Revision
from poppy_operations.protocol.approval import ApprovalStatement
from poppy_operations.protocol.ids import new_attempt

T = TypeVar("T")
logger = logging.getLogger("poppy_operations")


@dataclass(frozen=True)
class Lost:
    """Another request has the claim; look again."""


@dataclass(frozen=True)
class OtherTerms:
    """The terms changed between the checks and the run; nothing was performed (check 3)."""

    terms: Terms


@dataclass(frozen=True)
class Ended:
    """How the site's code ended: its response, and whether the action was performed."""

    response: HttpResponseBase
    performed: bool


Outcome = Answer | Lost | OtherTerms


@dataclass(frozen=True)
class Run:
    """One attempt to perform one approved revision."""

    call: Call
    caller: Caller
    revision: Revision
    approval: Approval
    attempt: str
    current: CurrentOperation

    @classmethod
    def of(
        cls,
        call: Call,
        caller: Caller,
        revision: Revision,
        approval: Approval,
        statement: ApprovalStatement | None,
    ) -> Run:
        """Prepare an attempt with a token of its own."""
        current = current_operation(revision, statement)
        return cls(call, caller, revision, approval, new_attempt(), current)

    @property
    def operation(self) -> Operation:
        """The operation as the checks have read it."""
        return self.revision.operation

    @property
    def keeps_slot(self) -> bool:
        """Whether its slot outlives the performance, as in review."""
        return self.operation.interface == Operation.Interface.REVIEW

    def begin(self) -> bool:
        """Claim the operation. A database that is in the way has lost us the claim."""
        action = self.call.action
        try:
            return performing.begin(
                self.operation,
                self.approval,
                attempt=self.attempt,
                effects=action.effects,
                lease_s=action.lease_s,
                now=self.call.now,
            )
        except Busy:
            # The commit may have reached the database all the same; nothing has run yet.
            self.release()
            return False

    def release(self) -> bool:
        """Open the operation again. Where even that fails, the lease ends the attempt."""
        try:
            return performing.release(self.operation, self.attempt)
        except Busy:
            self.log(logging.WARNING, "An attempt without effect could not be released.")
            return True

    def answer(self, response: HttpResponseBase) -> StoredAnswer:
        """What is stored of a response: on the website no body."""
        return stored_answer(response, with_body=not self.caller.on_website)

    def read_again(self) -> Operation | None:
        """The operation as it is now."""
        return (
            Operation.objects.using(using())
            .select_related("performance")
            .filter(pk=self.operation.pk)
            .first()
        )

    def log(self, level: int, message: str, error: BaseException | None = None) -> None:
        """Log what became of the attempt, without terms."""
        logger.log(
            level,
            message,
            exc_info=error,
            extra={
                "operation_id": self.operation.operation_id,
                "action": self.call.action.name,
                "attempt": self.attempt,
            },
        )


def perform(run: Run) -> Steps[Outcome]:
    """Perform one approved revision, unless another request has the claim."""
    if run.call.action.effects == "database":
        return (yield from _in_database(run))
    return (yield from _external(run))


# Effects in the database: begin, then one transaction around terms, body and finish.


def _in_database(run: Run) -> Steps[Outcome]:
    stack = ExitStack()
    try:
        if not (yield from database(partial(_begin_and_enter, run, stack))):
            return Lost()
        ended = yield from _attempted(run)
        return (yield from database(partial(_close, run, stack, ended)))
    except BaseException as raised:
        undone = yield from database(partial(_undo, run, stack, raised))
        if undone is not None:
            return undone
        raise


def _begin_and_enter(run: Run, stack: ExitStack) -> bool:
    if not run.begin():
        return False
    for alias in switched_off_aliases(run.call.request):
        if alias != using():
            stack.enter_context(transaction.atomic(using=alias))
    # The last one in is the first one to commit: that it was performed is known before anything.
    enter_outermost(stack)
    connection = connections[using()]
    if connection.vendor == "mysql":
        # A body that swallows a deadlock has lost its transaction; the missing savepoint says so.
        stack.enter_context(transaction.atomic(using=using()))
    if connection.vendor == "sqlite" and not _begins_with_the_lock(connection):
        # A transaction that reads first cannot write once another writer came between.
        performing.hold(run.operation, run.attempt)
    return True


def _begins_with_the_lock(connection: Any) -> bool:
    return getattr(connection, "transaction_mode", None) in {"IMMEDIATE", "EXCLUSIVE"}


def _attempted(run: Run) -> Steps[Ended | OtherTerms]:
    terms = yield from site(run.call.terms)
    if not isinstance(terms, Terms):
        return Ended(terms, performed=False)
    if terms.digest != run.revision.terms_digest:
        return OtherTerms(terms)
    try:
        response = yield from site(partial(run.call.body, run.current))
        response = yield from _rendered(run, response)
    except NotPerformed as said:
        return Ended(_of(said), performed=False)
    performed = yield from database(partial(says_performed, response))
    return Ended(response, performed=performed)


def _rendered(run: Run, response: HttpResponseBase) -> Steps[HttpResponseBase]:
    """Make an answer final where its body is stored; the website's stay as lazy as Django's."""
    if run.caller.on_website:
        return response
    return (yield from site(partial(run.call.render, response)))


def _of(said: NotPerformed) -> HttpResponseBase:
    return HttpResponse(status=409) if said.response is None else said.response


class _TakenOver(Exception):  # noqa: N818  rolls the transaction back; never leaves this module
    pass


class _NotPerformed(Exception):  # noqa: N818  as above
    pass


def _close(run: Run, stack: ExitStack, ended: Ended | OtherTerms) -> Outcome:
    """End the transaction of the effects: with finish, or rolled back."""
    if isinstance(ended, OtherTerms) or not ended.performed:
        _roll_back(stack, _NotPerformed())
        run.release()
        return ended if isinstance(ended, OtherTerms) else SiteAnswer(ended.response)
    try:
        finished = performing.finish(
            run.operation,
            run.approval,
            run.answer(ended.response),
            attempt=run.attempt,
            now=run.call.now,
            keeps_slot=run.keeps_slot,
        )
        if not finished:
            raise _TakenOver  # noqa: TRY301  the transaction has to see it
        stack.close()
    except BaseException as raised:
        answer = _after_failed_finish(run, stack, raised, ended.response)
        if answer is None:
            raise
        return answer
    performing.tell_performed(run.operation)
    return SiteAnswer(ended.response)


def _roll_back(stack: ExitStack, reason: BaseException) -> None:
    try:
        stack.__exit__(type(reason), reason, reason.__traceback__)
    except (DatabaseError, InterfaceError):
        # The connection is gone, and with it the transaction.
        logger.warning("A transaction ended with its connection.", exc_info=True)


def _after_failed_finish(
    run: Run, stack: ExitStack, raised: BaseException, response: HttpResponseBase
) -> Answer | None:
    """Tell a failed commit from an ``on_commit`` hook that raised after it.

    The release matches an attempt that did not commit. ``None``: not performed, by whatever was
    raised. The release waits for a commit that is still in flight.
    """
    _roll_back(stack, raised)
    if isinstance(raised, _TakenOver):
        run.log(logging.WARNING, "An attempt outlived its lease and was taken over.")
        return _of_the_other(run)
    if run.release():
        if isinstance(raised, OperationalError | InterfaceError):
            raise Busy(str(raised)) from raised
        return None
    operation = run.read_again()
    if operation is not None and operation.state == Operation.State.PERFORMED:
        performance = operation.performance
        if performance.attempt == run.attempt:
            run.log(logging.ERROR, "Performed, but a hook failed after the commit.", raised)
            performing.tell_performed(run.operation)
            return SiteAnswer(response)
    return _of_the_other(run, operation)


def _of_the_other(run: Run, operation: Operation | None = None) -> Answer:
    operation = operation or run.read_again()
    if operation is not None and operation.state == Operation.State.PERFORMED:
        return Replay(operation.operation_id, operation.performance)
    return still_performing(operation or run.operation)


def _undo(run: Run, stack: ExitStack, raised: BaseException) -> Answer | None:
    """Roll back and release after an exception of the site's, which then passes on.

    An attempt that was taken over gets the other's answer, and contention is not a fault.
    """
    _roll_back(stack, raised)
    released = run.release()
    if not isinstance(raised, Exception) or isinstance(raised, Busy):
        return None
    if not released and run.read_again() is not None:
        run.log(logging.WARNING, "An attempt was taken over, and then failed.", raised)
        return _of_the_other(run)
    if is_contention(raised):
        raise Busy(str(raised)) from raised
    return None


# External effects: begin, the body in autocommit, finish in a commit of its own.


def _external(run: Run) -> Steps[Outcome]:
    started = False
    try:
        if not (yield from database(run.begin)):
            return Lost()
        started = True
        response = yield from site(partial(run.call.body, run.current))
    except NotPerformed as said:
        yield from database(run.release)
        return SiteAnswer(_of(said))
    except run.call.action.not_performed:
        yield from database(run.release)
        raise
    except BaseException as raised:
        if not started:
            yield from database(run.release)
            raise
        yield from database(partial(_unknown, run, raised))
        if not isinstance(raised, Exception):
            raise
        return (yield from database(partial(_of_the_other, run)))
    return (yield from _external_end(run, response))


def _external_end(run: Run, response: HttpResponseBase) -> Steps[Outcome]:
    if not (yield from database(partial(says_performed, response))):
        yield from database(partial(_unknown, run, None))
        return (yield from database(partial(_of_the_other, run)))
    try:
        response = yield from _rendered(run, response)
        stored = yield from database(partial(run.answer, response))
        answer: Answer = SiteAnswer(response)
    except Exception as raised:  # noqa: BLE001  after the effect no fault may read as a failure
        run.log(logging.ERROR, "Performed, but its answer could not be made.", raised)
        stored, answer = StoredAnswer(200), PlainlyPerformed(run.operation.operation_id)
    yield from database(partial(_finish_external, run, stored))
    return answer


def _finish_external(run: Run, stored: StoredAnswer) -> None:
    try:
        end = performing.finish_external(
            run.operation,
            run.approval,
            stored,
            attempt=run.attempt,
            now=run.call.now,
            keeps_slot=run.keeps_slot,
        )
    except Busy as raised:
        # It happened; reconcile or a person will say so once the lease is over.
        run.log(logging.ERROR, "Performed, but it could not be recorded.", raised)
        return
    if end is Finish.LATE:
        run.log(logging.ERROR, "Performed by an attempt that had been given up.")
    if end is Finish.LOST:
        run.log(logging.ERROR, "Performed, though the operation was performed already.")
        return
    performing.tell_performed(run.operation, late=end is Finish.LATE)


def _unknown(run: Run, raised: BaseException | None) -> None:
    run.log(logging.ERROR, "Nobody knows whether an external action took effect.", raised)
    if isinstance(raised, Exception):
        got_request_exception.send(sender=None, request=run.call.request)
    try:
        performing.mark_unknown(run.operation, run.attempt, run.call.now)
    except Busy:
        run.log(logging.ERROR, "The unknown outcome could not be marked; its lease ends it.")


# Outside a claim.


def in_transactions(aliases: Sequence[str], inner: Steps[T]) -> Steps[T]:
    """Run the site's steps in the transactions that Django would have opened."""
    if not aliases:
        return (yield from inner)
    stack = ExitStack()
    try:
        yield from database(partial(_enter_all, stack, aliases))
        result = yield from inner
    except BaseException as raised:
        yield from database(partial(stack.__exit__, type(raised), raised, raised.__traceback__))
        raise
    yield from database(stack.close)
    return result


def _enter_all(stack: ExitStack, aliases: Sequence[str]) -> None:
    for alias in aliases:
        stack.enter_context(transaction.atomic(using=alias))
