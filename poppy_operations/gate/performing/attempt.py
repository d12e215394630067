"""One attempt to perform one approved revision, and how it can end."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import Any

from poppy_operations.declarations.current import ApprovedOperation
from poppy_operations.declarations.outcomes import Verdict
from poppy_operations.gate.answers import Answer, Lost, Replay
from poppy_operations.gate.approvals import current_operation, still_performing
from poppy_operations.gate.callers import Caller
from poppy_operations.gate.calls import Job
from poppy_operations.gate.sync_and_async import Steps, database, site
from poppy_operations.lifecycle import claims
from poppy_operations.lifecycle.durable import Busy, busy_if_unusable
from poppy_operations.logs import log_of
from poppy_operations.models import Approval, Operation, Revision, instants
from poppy_operations.models.databases import write_alias
from poppy_operations.protocol.approval import ApprovalStatement
from poppy_operations.protocol.ids import new_attempt
from poppy_operations.protocol.stored_answer import StoredAnswer


@dataclass(frozen=True)
class Attempt:
    """One attempt to perform one approved revision.

    Whether something has expired is judged by the time at which the request came, ``job.now``; the
    times that are written are the current ones.
    """

    job: Job
    caller: Caller
    revision: Revision
    approval: Approval
    token: str
    current: ApprovedOperation

    @classmethod
    def of(
        cls,
        job: Job,
        caller: Caller,
        revision: Revision,
        approval: Approval,
        statement: ApprovalStatement | None,
    ) -> Attempt:
        """Prepare an attempt with a token of its own."""
        current = current_operation(revision, statement)
        return cls(job, caller, revision, approval, new_attempt(), current)

    @property
    def operation(self) -> Operation:
        """The operation as the checks have read it."""
        return self.revision.operation

    def begin(self) -> bool | None:
        """Claim the operation. False if another attempt did; ``None`` if the database was busy."""
        action = self.job.action
        try:
            return claims.begin(
                self.operation,
                self.approval,
                attempt=self.token,
                effects=action.effects,
                lease_s=action.lease_s,
                now=instants.now(),
                queued=action.background,
            )
        except Busy:
            # The commit may have reached the database all the same; nothing has run yet.
            self.release()
            return None

    def withdraw(self) -> None:
        """Undo a begin that was interrupted: it may have been committed all the same."""
        self.release()

    def release(self) -> bool | None:
        """Open the operation again. False if this attempt no longer has it.

        ``None`` if the database was busy: the lease then ends the attempt.
        """
        try:
            return claims.release(self.operation, self.token, self.said_for_repeat())
        except Busy:
            self.log(logging.WARNING, "An attempt without effect could not be released.")
            return None

    def answer(self, result: Any) -> StoredAnswer:
        """What is stored of a result: some interfaces keep no body."""
        with_body = self.caller.interface.stores_body
        return self.job.results.stored(result, with_body=with_body)

    def verdict(self, result: Any) -> Verdict:
        """What the site's code has said of the action by its result."""
        verdict = self.job.results.verdict(result)
        if verdict is Verdict.NOTHING_HAPPENED:
            self.log(logging.INFO, "An answer said that nothing happened.")
        return verdict

    def said_for_repeat(self) -> str | None:
        """The answer to keep for a repeat; ``None`` if the request itself is answered now."""
        return None

    def read_again(self) -> Operation | None:
        """The operation as it is now; ``None`` if it is gone, or cannot be read."""
        found = Operation.objects.using(write_alias()).select_related("performance__revision")
        try:
            with busy_if_unusable():
                return found.filter(pk=self.operation.pk).first()
        except Busy:
            self.log(logging.WARNING, "An operation could not be read again.")
            return None

    def log(self, level: int, message: str, error: BaseException | None = None) -> None:
        """Log what became of the attempt, without terms."""
        log_of(
            level,
            message,
            operation_id=self.operation.operation_id,
            action=self.job.action.name,
            error=error,
            request=self.job.request,
            attempt=self.token,
        )


def begun(attempt: Attempt) -> Steps[Lost | None]:
    """Claim the operation; a claim that was interrupted is given back."""
    try:
        claimed = yield from database(attempt.begin)
    except BaseException:
        yield from database(attempt.withdraw)
        raise
    return None if claimed else Lost(by_others=claimed is not None)


def made_final(attempt: Attempt, result: Any) -> Steps[Any]:
    """Make a result final if its body is stored; otherwise it stays as lazy as Django made it."""
    if not attempt.caller.interface.stores_body:
        return result
    return (yield from site(partial(attempt.job.results.final, result)))


def without_effect(attempt: Attempt) -> Answer | None:
    """Release an attempt that did nothing; the other's answer if another attempt took over."""
    return elsewhere(attempt.read_again()) if attempt.release() is False else None


def of_the_other(attempt: Attempt) -> Answer:
    """The answer if another attempt took over: its stored one, or that it is under way."""
    return elsewhere(attempt.read_again()) or still_performing(attempt.operation)


def elsewhere(operation: Operation | None) -> Answer | None:
    """The answer of another attempt; ``None`` if no other attempt has the operation."""
    if operation is None or operation.state == Operation.State.OPEN:
        return None
    if operation.state == Operation.State.PERFORMING:
        return still_performing(operation)
    performance = operation.performance
    performance.revision.operation = operation
    return Replay(current_operation(performance.revision, None), performance)
