"""External effects: begin, the body in autocommit, finish in a commit of its own (7).

We never roll any of it back, and no time-out ever frees an attempt that has started.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from django.core.signals import got_request_exception
from django.db import DatabaseError, InterfaceError

from poppy_operations.declarations.outcomes import NotPerformed, Verdict
from poppy_operations.gate.answers import Answer, Outcome, PlainlyPerformed, SiteAnswer
from poppy_operations.gate.approvals import still_performing
from poppy_operations.gate.performing.attempt import (
    Attempt,
    begun,
    made_final,
    of_the_other,
    without_effect,
)
from poppy_operations.gate.sync_and_async import Steps, database, site
from poppy_operations.lifecycle import finishing
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.lifecycle.finishing import Finish
from poppy_operations.models import instants
from poppy_operations.protocol.stored_answer import StoredAnswer


def perform_external(attempt: Attempt) -> Steps[Outcome]:
    """Perform one approved revision that reaches outside."""
    lost = yield from begun(attempt)
    if lost is not None:
        return lost
    try:
        result = yield from site(partial(attempt.job.body, attempt.current))
    except NotPerformed as said:
        other = yield from database(partial(without_effect, attempt))
        return other or SiteAnswer(attempt.job.results.nothing_happened(said))
    except attempt.job.action.not_performed:
        other = yield from database(partial(without_effect, attempt))
        if other is not None:
            return other
        raise
    except BaseException as raised:
        yield from database(partial(_outcome_unknown, attempt, raised))
        if not isinstance(raised, Exception):
            raise
        return (yield from database(partial(_told_under_way, attempt)))
    return (yield from _external_end(attempt, result))


def _external_end(attempt: Attempt, result: Any) -> Steps[Outcome]:
    final: Any | None = None
    try:
        final = yield from made_final(attempt, result)
    except Exception as raised:  # noqa: BLE001  after the effect no fault may read as a failure
        attempt.log(logging.ERROR, "The answer of an external action could not be made.", raised)
    except BaseException:
        yield from database(partial(_ended, attempt, result, None))
        raise
    return (yield from database(partial(_ended, attempt, result, final)))


def _ended(attempt: Attempt, result: Any, final: Any | None) -> Answer:
    """Judge and record the end in one call, which no cancellation can split.

    Never raises: after the effect no fault may read as a failure, such as that of a receiver in the
    site's code.
    """
    try:
        return _judged(attempt, result, final)
    except Exception as raised:  # noqa: BLE001  as above
        _outcome_unknown(attempt, raised)
        return _told_under_way(attempt)


def _judged(attempt: Attempt, result: Any, final: Any | None) -> Answer:
    verdict = attempt.verdict(result)
    if verdict is Verdict.NOTHING_HAPPENED:
        return without_effect(attempt) or SiteAnswer(result if final is None else final)
    if verdict is Verdict.FAILED:
        _outcome_unknown(attempt, None)
        return _told_under_way(attempt)
    stored = StoredAnswer(200)
    answer: Answer = PlainlyPerformed(attempt.operation.operation_id)
    if final is not None:
        try:
            stored, answer = attempt.answer(final), SiteAnswer(final)
        except Exception as raised:  # noqa: BLE001  as above
            attempt.log(
                logging.ERROR, "The answer of an external action could not be kept.", raised
            )
    _finish_external(attempt, stored)
    return answer


def _finish_external(attempt: Attempt, stored: StoredAnswer) -> None:
    try:
        end = finishing.finish_external(
            attempt.operation,
            attempt.approval,
            stored,
            attempt=attempt.token,
            now=instants.now(),
        )
    except (Busy, DatabaseError, InterfaceError) as raised:
        # It happened; reconcile or a person will say so once the lease is over.
        attempt.log(logging.ERROR, "Performed, but it could not be recorded.", raised)
        return
    if end is Finish.LATE:
        attempt.log(logging.ERROR, "Performed by an attempt that had been given up.")
    if end is Finish.LOST:
        attempt.log(logging.ERROR, "Performed, though the operation was performed already.")
        return
    finishing.tell_performed(attempt.revision, attempt.approval, late=end is Finish.LATE)


def _outcome_unknown(attempt: Attempt, raised: BaseException | None) -> None:
    attempt.log(logging.ERROR, "Nobody knows whether an external action took effect.", raised)
    try:
        finishing.mark_unknown(attempt.operation, attempt.token, instants.now())
    except Exception as error:  # noqa: BLE001  after the effect no fault may read as a failure
        attempt.log(
            logging.ERROR, "The unknown outcome could not be marked; its lease ends it.", error
        )
    if isinstance(raised, Exception):
        _report(attempt, raised)


def _told_under_way(attempt: Attempt) -> Answer:
    """The answer after an unknown outcome: that it is under way, unless more is known by now."""
    try:
        return of_the_other(attempt)
    except Exception as raised:  # noqa: BLE001  as above
        attempt.log(
            logging.ERROR, "An operation of unknown outcome could not be read again.", raised
        )
        return still_performing(attempt.operation)


def _report(attempt: Attempt, raised: Exception) -> None:
    """Send ``got_request_exception``, as Django does; receivers read the current exception."""
    try:
        raise raised  # noqa: TRY301  so that it is the current exception
    except Exception:  # noqa: BLE001  what Django would have caught
        got_request_exception.send_robust(sender=None, request=attempt.job.request)
