"""Effects in the database: begin, then one transaction around terms, body and finish (7)."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import (
    DatabaseError,
    InterfaceError,
    connections,
    transaction,
)
from django.db.transaction import TransactionManagementError

from poppy_operations.declarations.outcomes import NotPerformed, Verdict
from poppy_operations.declarations.terms import Terms
from poppy_operations.gate.answers import Answer, OtherTerms, Outcome, Replay, SiteAnswer
from poppy_operations.gate.approvals import still_performing
from poppy_operations.gate.performing.attempt import (
    Attempt,
    begun,
    made_final,
    of_the_other,
    without_effect,
)
from poppy_operations.gate.sync_and_async import Steps, database, deciding, site
from poppy_operations.lifecycle import claims, finishing
from poppy_operations.lifecycle.durable import Busy, enter_outermost, is_contention
from poppy_operations.lifecycle.passing import passes
from poppy_operations.models import instants
from poppy_operations.models.databases import write_alias

logger = logging.getLogger("poppy_operations")


@dataclass(frozen=True)
class Ended:
    """How the site's code ended: its result, and whether the action was performed."""

    result: Any
    performed: bool


def perform_in_database(attempt: Attempt) -> Steps[Outcome]:
    """Perform one approved revision whose effects are all in our database."""
    lost = yield from begun(attempt)
    if lost is not None:
        return lost
    stack = ExitStack()
    try:
        yield from deciding(partial(_enter_transactions, attempt, stack))
        ended = yield from _attempted(attempt)
        return (yield from database(partial(_close, attempt, stack, ended)))
    except BaseException as raised:
        undone = yield from database(partial(_undo, attempt, stack, raised))
        if undone is not None:
            return undone
        raise


def _enter_transactions(attempt: Attempt, stack: ExitStack) -> None:
    for alias in attempt.job.transactions:
        if alias != write_alias():
            stack.enter_context(transaction.atomic(using=alias))
    # What is entered last commits first: that it was performed is stored before anything else.
    enter_outermost(stack)
    connection = connections[write_alias()]
    if connection.vendor == "mysql":
        # A body that swallows a deadlock has lost its transaction; the missing savepoint says so.
        stack.enter_context(transaction.atomic(using=write_alias()))
    if connection.vendor == "sqlite" and not _begins_with_the_lock(connection):
        # A transaction that reads first cannot write once another writer came between.
        claims.hold(attempt.operation, attempt.token)


def _begins_with_the_lock(connection: Any) -> bool:
    return getattr(connection, "transaction_mode", None) in {"IMMEDIATE", "EXCLUSIVE"}


def _attempted(attempt: Attempt) -> Steps[Ended | OtherTerms]:
    terms: Any = yield from site(attempt.job.terms)
    if not isinstance(terms, Terms):
        return Ended(terms, performed=False)
    if terms.digest != attempt.revision.terms_digest:
        return OtherTerms(terms)
    try:
        result = yield from site(partial(attempt.job.body, attempt.current))
        result = yield from made_final(attempt, result)
    except NotPerformed as said:
        return Ended(attempt.job.results.nothing_happened(said), performed=False)
    performed = yield from database(partial(_is_performed, attempt, result))
    return Ended(result, performed=performed)


def _is_performed(attempt: Attempt, result: Any) -> bool:
    """Whether the site's code has performed the action, by its answer and by its transaction.

    Raises ``TransactionManagementError`` if the two disagree, as if the site's code had raised it.
    """
    if attempt.verdict(result) is not Verdict.PERFORMED:
        return False
    if connections[write_alias()].needs_rollback:
        attempt.log(logging.ERROR, "A success was answered from a transaction marked for rollback.")
        message = (
            f"{attempt.job.action.name} answered a success, but its transaction is marked for "
            "rollback, so that nothing of it would be kept. Let database errors pass, "
            "catch them around a transaction.atomic() that has its savepoint, or say that nothing "
            "happened with NotPerformed or an answer from 400 on."
        )
        raise TransactionManagementError(message)
    return True


class _TakenOver(Exception):
    pass


class _NotPerformed(Exception):
    pass


def _close(attempt: Attempt, stack: ExitStack, ended: Ended | OtherTerms) -> Outcome:
    """End the transaction of the effects: with finish, or rolled back."""
    if isinstance(ended, OtherTerms) or not ended.performed:
        _roll_back(stack, _NotPerformed())
        ending = ended if isinstance(ended, OtherTerms) else SiteAnswer(ended.result)
        return without_effect(attempt) or ending
    try:
        finished = finishing.finish(
            attempt.operation,
            attempt.approval,
            attempt.answer(ended.result),
            attempt=attempt.token,
            now=instants.now(),
        )
        if not finished:
            raise _TakenOver  # noqa: TRY301  the transaction has to see it
        stack.close()
    except BaseException as raised:
        answer = _after_failed_finish(attempt, stack, raised, ended.result)
        if answer is None or not isinstance(raised, Exception):
            raise
        return answer
    finishing.tell_performed(attempt.revision, attempt.approval)
    return SiteAnswer(ended.result)


def _roll_back(stack: ExitStack, reason: BaseException) -> None:
    try:
        stack.__exit__(type(reason), reason, reason.__traceback__)
    except (DatabaseError, InterfaceError):
        # The connection is gone, and with it the transaction.
        logger.warning("A transaction ended with its connection.", exc_info=True)


def _after_failed_finish(
    attempt: Attempt, stack: ExitStack, raised: BaseException, result: Any
) -> Answer | None:
    """Tell a failed commit from an ``on_commit`` hook that raised after it.

    An attempt can be released only if it did not commit, and the release waits for a commit that is
    still in flight. ``None`` if nothing was performed, because of what was raised. If nobody can
    say which of the two it was, nobody may say that the action failed.
    """
    _roll_back(stack, raised)
    is_taken_over = isinstance(raised, _TakenOver)
    if is_taken_over:
        attempt.log(logging.WARNING, "An attempt outlived its lease and was taken over.")
    released = False if is_taken_over else attempt.release()
    if released is None:
        attempt.log(logging.ERROR, "Nobody knows yet whether an attempt was committed.", raised)
        return still_performing(attempt.operation)
    if released and passes(raised):
        raise Busy(str(raised)) from raised
    if released:
        return None
    other = of_the_other(attempt)
    if isinstance(other, Replay) and other.performance.attempt == attempt.token:
        attempt.log(logging.ERROR, "Performed, but a hook failed after the commit.", raised)
        finishing.tell_performed(attempt.revision, attempt.approval)
        return SiteAnswer(result)
    return other


def _undo(attempt: Attempt, stack: ExitStack, raised: BaseException) -> Answer | None:
    """Roll back and release after an exception of the site's code, which then passes on.

    If another attempt took over, its answer is given. Contention is no fault: it becomes ``Busy``.
    """
    _roll_back(stack, raised)
    other = without_effect(attempt)
    if not isinstance(raised, Exception) or isinstance(raised, Busy):
        return None
    if other is not None:
        attempt.log(logging.WARNING, "An attempt was taken over, and then failed.", raised)
        return other
    if is_contention(raised):
        raise Busy(str(raised)) from raised
    return None
