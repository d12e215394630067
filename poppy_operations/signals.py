"""What happened to an operation, told after the commit.

Each signal is sent by the class ``Operation`` with ``operation`` and what its comment names, all
of them copies: receivers cannot change the outcome, and one that raises is logged. They run before
the answer is sent, so that what takes long belongs into a queue.
"""

from __future__ import annotations

import logging
from copy import deepcopy
from typing import Any

from django.dispatch import Signal

from poppy_operations.models import Operation

logger = logging.getLogger("poppy_operations")

operation_returned = Signal()  # revision
approval_recorded = Signal()  # revision, approval
approval_declined = Signal()  # revision, decline
operation_performed = Signal()  # late=True: after its attempt had been given up
outcome_unknown = Signal()  # attempt
operation_settled = Signal()  # settlement


def tell(signal: Signal, operation: Operation, **named: Any) -> None:
    """Send a signal for something that is committed. Never raises."""
    if not signal.has_listeners(Operation):
        return
    extra = {"operation_id": operation.operation_id}
    try:
        # Copied together, so that what belongs together stays together.
        copies = deepcopy({"operation": operation, **named})
    except Exception:
        logger.exception("A signal was not sent: its rows cannot be copied.", extra=extra)
        return
    for receiver, outcome in signal.send_robust(Operation, **copies):
        if isinstance(outcome, Exception):
            logger.error("A signal receiver failed: %r", receiver, exc_info=outcome, extra=extra)
