"""External effects: begin, the body in autocommit, finish in a commit of its own (7).

Nothing of it is ever rolled back by us, and no time-out ever frees it.
"""

from __future__ import annotations

import logging
from functools import partial

from django.core.signals import got_request_exception
from django.http import HttpResponseBase
from django.utils import timezone

from poppy_operations.declarations.outcomes import NotPerformed
from poppy_operations.gate.answers import Answer, PlainlyPerformed, SiteAnswer
from poppy_operations.gate.approvals import still_performing
from poppy_operations.gate.performing.attempt import (
    Lost,
    Outcome,
    Run,
    answer_of,
    begun,
    of_the_other,
    rendered,
    without_effect,
)
from poppy_operations.gate.stored import says_performed
from poppy_operations.gate.sync_and_async import Steps, database, site
from poppy_operations.lifecycle import finishing
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.lifecycle.finishing import Finish, StoredAnswer


def perform_outside(run: Run) -> Steps[Outcome]:
    """Perform one approved revision that reaches outside."""
    if not (yield from begun(run)):
        return Lost()
    try:
        response = yield from site(partial(run.call.body, run.current))
    except NotPerformed as said:
        other = yield from database(partial(without_effect, run))
        return other or SiteAnswer(answer_of(said))
    except run.call.action.not_performed:
        other = yield from database(partial(without_effect, run))
        if other is not None:
            return other
        raise
    except BaseException as raised:
        yield from database(partial(_unknown, run, raised))
        if not isinstance(raised, Exception):
            raise
        return (yield from database(partial(_under_way, run)))
    return (yield from _external_end(run, response))


def _external_end(run: Run, response: HttpResponseBase) -> Steps[Outcome]:
    final: HttpResponseBase | None = None
    try:
        final = yield from rendered(run, response)
    except Exception as raised:  # noqa: BLE001  after the effect no fault may read as a failure
        run.log(logging.ERROR, "The answer of an external action could not be made.", raised)
    except BaseException:
        yield from database(partial(_end, run, response, None))
        raise
    return (yield from database(partial(_end, run, response, final)))


def _end(run: Run, response: HttpResponseBase, final: HttpResponseBase | None) -> Answer:
    """Judge and record the end in one call, which no cancellation can part.

    Never raises: after the effect no fault, such as of a receiver of the site's, may read as a
    failure.
    """
    try:
        return _judged(run, response, final)
    except Exception as raised:  # noqa: BLE001  as above
        _unknown(run, raised)
        return _under_way(run)


def _judged(run: Run, response: HttpResponseBase, final: HttpResponseBase | None) -> Answer:
    if not says_performed(response):
        _unknown(run, None)
        return _under_way(run)
    stored = StoredAnswer(200)
    answer: Answer = PlainlyPerformed(run.operation.operation_id)
    if final is not None:
        try:
            stored, answer = run.answer(final), SiteAnswer(final)
        except Exception as raised:  # noqa: BLE001  as above
            run.log(logging.ERROR, "The answer of an external action could not be kept.", raised)
    _finish_external(run, stored)
    return answer


def _finish_external(run: Run, stored: StoredAnswer) -> None:
    try:
        end = finishing.finish_external(
            run.operation,
            run.approval,
            stored,
            attempt=run.attempt,
            now=timezone.now(),
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
    finishing.tell_performed(run.revision, run.approval, late=end is Finish.LATE)


def _unknown(run: Run, raised: BaseException | None) -> None:
    run.log(logging.ERROR, "Nobody knows whether an external action took effect.", raised)
    try:
        finishing.mark_unknown(run.operation, run.attempt, timezone.now())
    except Exception as error:  # noqa: BLE001  after the effect no fault may read as a failure
        run.log(logging.ERROR, "The unknown outcome could not be marked; its lease ends it.", error)
    if isinstance(raised, Exception):
        _report(run, raised)


def _under_way(run: Run) -> Answer:
    """The answer after an unknown outcome: that it is under way, unless more is known by now."""
    try:
        return of_the_other(run)
    except Exception as raised:  # noqa: BLE001  as above
        run.log(logging.ERROR, "An operation of unknown outcome could not be read again.", raised)
        return still_performing(run.operation)


def _report(run: Run, raised: Exception) -> None:
    """Tell whoever watches for faults, as Django does: receivers read the one being handled."""
    try:
        raise raised  # noqa: TRY301  so that it is the one being handled
    except Exception:  # noqa: BLE001  what Django would have caught
        got_request_exception.send_robust(sender=None, request=run.call.request)
