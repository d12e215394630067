"""What happened to an operation, told after the commit.

Each signal is sent by the class ``Operation`` with ``operation`` (the row as it was committed) and
what its comment names. Receivers cannot change the outcome, and one that raises is logged.
"""

from __future__ import annotations

import logging
from typing import Any

from django.dispatch import Signal

from poppy_operations.models import Operation

logger = logging.getLogger("poppy_operations")

operation_returned = Signal()  # revision
approval_recorded = Signal()  # revision, approval
approval_declined = Signal()  # revision, decline
operation_performed = Signal()  # performance; late=True: after its attempt had been given up
outcome_unknown = Signal()  # attempt
operation_settled = Signal()  # settlement


def tell(signal: Signal, **named: Any) -> None:
    """Send a signal for something that is committed. Never raises."""
    for receiver, outcome in signal.send_robust(Operation, **named):
        if isinstance(outcome, Exception):
            logger.error("A signal receiver failed: %r", receiver, exc_info=outcome)
