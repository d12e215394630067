"""Attempts that a worker starts: handing over, starting, and what a worker answered (7)."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from datetime import datetime, timedelta

from poppy_operations.lifecycle.claims import of_attempt, open_changes, rows_of
from poppy_operations.lifecycle.durable import committed, durably
from poppy_operations.models import Operation, Revision
from poppy_operations.protocol.stored_answer import StoredAnswer


def enqueue_again(operation: Operation, now: datetime) -> bool:
    """Claim the right to enqueue an attempt again. False if somebody else did, or it is over.

    ``operation`` is the row as it was read: it says when the attempt was enqueued last.
    """
    waiting = of_attempt(operation, operation.attempt).filter(
        started_at=None, enqueued_at=operation.enqueued_at
    )
    return bool(committed(lambda: waiting.update(enqueued_at=now)))


def start(operation: Operation, attempt: str, now: datetime) -> bool:
    """Start a queued attempt in its worker. False if it has been started, or is over."""
    unstarted = of_attempt(operation, attempt).filter(started_at=None)
    lease_until = now + timedelta(seconds=operation.lease_s)
    return bool(committed(lambda: unstarted.update(started_at=now, lease_until=lease_until)))


def worker_answer_text(revision: Revision, answer: StoredAnswer) -> str:
    """What is stored of the answer of a worker that did not perform a revision."""
    body = None if answer.body is None else b64encode(answer.body).decode()
    return json.dumps([revision.revision, answer.status, list(answer.headers), body])


def worker_answer(operation: Operation, revision: Revision) -> StoredAnswer | None:
    """The answer of the worker that did not perform this revision, as long as nobody took it."""
    if operation.refusal is None:
        return None
    named, status, headers, body = json.loads(operation.refusal)
    if named != revision.revision:
        return None
    pairs = [(name, value) for name, value in headers]
    return StoredAnswer(status, pairs, None if body is None else b64decode(body))


def take_worker_answer(operation: Operation) -> bool:
    """Take the answer of the worker for one repeat. False: another one did, or has begun."""
    answered = rows_of(operation).filter(
        state=Operation.State.OPEN, attempt=operation.attempt, refusal__isnull=False
    )
    return bool(committed(lambda: answered.update(refusal=None)))


def release_unstarted(operation: Operation, attempt: str) -> bool:
    """Open the operation again after a queued attempt that no worker has started."""
    unstarted = of_attempt(operation, attempt).filter(started_at=None)
    return bool(durably(lambda: unstarted.update(**open_changes())))
