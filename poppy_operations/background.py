"""For queues of a site's own: what their workers call."""

from __future__ import annotations

from django.http import HttpRequest

from poppy_operations.gate.performing import queued
from poppy_operations.sessions.reports import hide_our_frames
from poppy_operations.site_responses import WorkersResponses


def perform_attempt(operation_id: str, attempt: str) -> bool:
    """Perform a queued attempt, with the two values that ``QUEUE`` was called with.

    ``True``: this worker started it. What became of it is in the database and in the log; what
    the action refused it with is told to the agent, and the failure of an external action is an
    unknown outcome. ``False``: there was nothing to start, since a message that comes twice or too
    late does nothing, and neither does one of a revoked agent or of an action that the code does
    not declare.

    Raises ``Busy`` if the database is locked, unreachable or read-only, and, having performed
    nothing, whatever was raised by an action with effects in the database, or by an external one
    that lists the exception. The message has done its work all the same: the agent's repeat, or
    ``requeue``, sends another.
    """
    # Receivers of got_request_exception read a request.
    request = HttpRequest()
    request.META |= {"SERVER_NAME": "worker", "SERVER_PORT": "0"}  # a report names its host
    hide_our_frames(request)
    return queued.perform_handed_over(operation_id, attempt, WorkersResponses(), request)
