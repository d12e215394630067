"""One attempt to perform one approved revision, and how it can end."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from django.http import HttpResponse, HttpResponseBase

from poppy_operations.declarations import CurrentOperation, NotPerformed, Terms
from poppy_operations.gate.answers import Answer, Replay
from poppy_operations.gate.approvals import current_operation, still_performing
from poppy_operations.gate.callers import Caller
from poppy_operations.gate.calls import Call
from poppy_operations.gate.steps import Steps, site
from poppy_operations.gate.stored import stored_answer
from poppy_operations.lifecycle import performing
from poppy_operations.lifecycle.durable import Busy, using
from poppy_operations.lifecycle.performing import StoredAnswer
from poppy_operations.models import Approval, Operation, Revision
from poppy_operations.protocol.approval import ApprovalStatement
from poppy_operations.protocol.ids import new_attempt

logger = logging.getLogger("poppy_operations")


@dataclass(frozen=True)
class Lost:
    """Another request has the claim; look again."""


@dataclass(frozen=True)
class OtherTerms:
    """The terms changed between the checks and the run; nothing was performed (check 3)."""

    terms: Terms


Outcome = Answer | Lost | OtherTerms


@dataclass(frozen=True)
class Run:
    """One attempt to perform one approved revision."""

    call: Call
    caller: Caller
    revision: Revision
    approval: Approval
    attempt: str
    current: CurrentOperation

    @classmethod
    def of(
        cls,
        call: Call,
        caller: Caller,
        revision: Revision,
        approval: Approval,
        statement: ApprovalStatement | None,
    ) -> Run:
        """Prepare an attempt with a token of its own."""
        current = current_operation(revision, statement)
        return cls(call, caller, revision, approval, new_attempt(), current)

    @property
    def operation(self) -> Operation:
        """The operation as the checks have read it."""
        return self.revision.operation

    @property
    def keeps_slot(self) -> bool:
        """Whether its slot outlives the performance, as in review."""
        return self.operation.interface == Operation.Interface.REVIEW

    def begin(self) -> bool:
        """Claim the operation. A database that is in the way has lost us the claim."""
        action = self.call.action
        try:
            return performing.begin(
                self.operation,
                self.approval,
                attempt=self.attempt,
                effects=action.effects,
                lease_s=action.lease_s,
                now=self.call.now,
                queued=action.background,
            )
        except Busy:
            # The commit may have reached the database all the same; nothing has run yet.
            self.release()
            return False

    def release(self) -> bool:
        """Open the operation again. Where even that fails, the lease ends the attempt."""
        try:
            return performing.release(self.operation, self.attempt)
        except Busy:
            self.log(logging.WARNING, "An attempt without effect could not be released.")
            return True

    def answer(self, response: HttpResponseBase) -> StoredAnswer:
        """What is stored of a response: on the website no body."""
        return stored_answer(response, with_body=not self.caller.on_website)

    def read_again(self) -> Operation | None:
        """The operation as it is now."""
        return (
            Operation.objects.using(using())
            .select_related("performance__revision")
            .filter(pk=self.operation.pk)
            .first()
        )

    def log(self, level: int, message: str, error: BaseException | None = None) -> None:
        """Log what became of the attempt, without terms."""
        logger.log(
            level,
            message,
            exc_info=error,
            extra={
                "operation_id": self.operation.operation_id,
                "action": self.call.action.name,
                "attempt": self.attempt,
            },
        )


def rendered(run: Run, response: HttpResponseBase) -> Steps[HttpResponseBase]:
    """Make an answer final where its body is stored; the website's stay as lazy as Django's."""
    if run.caller.on_website:
        return response
    final: HttpResponseBase = yield from site(lambda: run.call.render(response))
    return final


def answer_of(said: NotPerformed) -> HttpResponseBase:
    """The answer that the site gave to say that nothing happened."""
    return HttpResponse(status=409) if said.response is None else said.response


def of_the_other(run: Run, operation: Operation | None = None) -> Answer:
    """The answer where another attempt decides: its stored one, or that it is under way."""
    operation = operation or run.read_again()
    if operation is not None and operation.state == Operation.State.PERFORMED:
        performance = operation.performance
        performance.revision.operation = operation
        return Replay(current_operation(performance.revision, None), performance)
    return still_performing(operation or run.operation)
