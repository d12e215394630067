"""For queues of a site's own: what their workers call."""

from __future__ import annotations

from poppy_operations.gate.performing import queued
from poppy_operations.sessions.reports import clear_our_frames, report_request
from poppy_operations.site_responses import WorkersResponses


def perform_attempt(operation_id: str, attempt: str) -> bool:
    """Perform a queued attempt, with the two values that ``QUEUE`` was called with.

    ``True`` if this worker started the attempt. How it ended is in the database and in the log. If
    the action refused, its answer is told to the agent; if an external action failed, its outcome
    is unknown. ``False`` if there was nothing to start: the message came twice or too late, the
    agent was revoked, or the code does not declare the action.

    Raises ``Busy`` if the database is locked, unreachable or read-only. Also raises what the action
    raised if nothing was performed: any exception of an action with effects in the database, and an
    exception that an external action lists in ``not_performed``. The message has done its work all
    the same: the agent's repeat, or ``requeue``, sends another.
    """
    # Receivers of got_request_exception read a request.
    request = report_request()
    try:
        return queued.perform_handed_over(operation_id, attempt, WorkersResponses(), request)
    except Exception as error:
        # The queue reports on it without a request.
        clear_our_frames(error)
        raise
