"""External effects: begin, the body in autocommit, finish in a commit of its own (7).

Nothing of it is ever rolled back by us, and no time-out ever frees it.
"""

from __future__ import annotations

import logging
from functools import partial

from django.core.signals import got_request_exception
from django.http import HttpResponseBase

from poppy_operations.declarations import NotPerformed
from poppy_operations.gate.answers import Answer, PlainlyPerformed, SiteAnswer
from poppy_operations.gate.attempt import Lost, Outcome, Run, answer_of, of_the_other, rendered
from poppy_operations.gate.steps import Steps, database, site
from poppy_operations.gate.stored import says_performed
from poppy_operations.lifecycle import performing
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.lifecycle.performing import Finish, StoredAnswer


def perform_outside(run: Run) -> Steps[Outcome]:
    """Perform one approved revision that reaches outside."""
    started = False
    try:
        if not (yield from database(run.begin)):
            return Lost()
        started = True
        response = yield from site(partial(run.call.body, run.current))
    except NotPerformed as said:
        yield from database(run.release)
        return SiteAnswer(answer_of(said))
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
        return (yield from database(partial(of_the_other, run)))
    return (yield from _external_end(run, response))


def _external_end(run: Run, response: HttpResponseBase) -> Steps[Outcome]:
    if not (yield from database(partial(says_performed, response))):
        yield from database(partial(_unknown, run, None))
        return (yield from database(partial(of_the_other, run)))
    try:
        response = yield from rendered(run, response)
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
