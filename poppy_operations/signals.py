"""What happened to an operation, told after the commit.

Each signal is sent by the class ``Operation``, with ``operation`` as it is stored by then, and with
what the comment beside the signal names. These are copies: receivers cannot change the outcome. If
a receiver raises, that is logged. Receivers run before the answer is sent, so long work belongs in
a queue.
"""

from __future__ import annotations

import logging
from copy import deepcopy
from typing import Any

from django.db.models import Model
from django.dispatch import Signal

from poppy_operations.logs import about, log_of
from poppy_operations.models import Operation
from poppy_operations.models.databases import write_alias

operation_returned = Signal()  # revision
approval_recorded = Signal()  # revision, approval
approval_declined = Signal()  # revision, decline
operation_performed = Signal()  # revision, approval, performance, late
outcome_unknown = Signal()  # attempt
operation_settled = Signal()  # settlement, performance or None


def tell(signal: Signal, operation: Operation, **named: Any) -> None:
    """Send a signal for something that is committed. Never raises."""
    if not signal.has_listeners(Operation):
        return
    try:
        # Copied together, so that the copies refer to each other as the rows do.
        copies = deepcopy({"operation": operation, **named})
        _read_again(copies["operation"])
        _complete(copies)
        outcomes = signal.send_robust(Operation, **copies)
    except Exception as error:  # noqa: BLE001  what is told is committed
        # Rows that cannot be copied, or a receiver that failed and has no name to log it by.
        log_of(logging.ERROR, "A signal could not be sent.", error=error, **about(operation))
        return
    for receiver, outcome in outcomes:
        if isinstance(outcome, Exception):
            message = "A signal receiver failed: %r"
            log_of(logging.ERROR, message, receiver, error=outcome, **about(operation))


def _complete(copies: dict[str, Any]) -> None:
    """Read what the rows were read without: a receiver would read it from a replica."""
    for row in copies.values():
        deferred = row.get_deferred_fields() if isinstance(row, Model) else ()
        if deferred:
            row.refresh_from_db(using=write_alias(), fields=deferred)


def _read_again(copy: Operation) -> None:
    """Read the copy again: a transition has changed columns that nobody has read since."""
    try:
        copy.refresh_from_db(using=write_alias())
    except Exception as error:  # noqa: BLE001  as above
        message = "An operation is told as it was read before its transition."
        log_of(logging.ERROR, message, **about(copy), error=error)
