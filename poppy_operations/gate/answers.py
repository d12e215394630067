"""What the gate answers, for doors to put into their own form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from poppy_operations.declarations.current import ApprovedOperation
from poppy_operations.declarations.terms import Terms
from poppy_operations.models import Performance
from poppy_operations.protocol import EXTENSION
from poppy_operations.protocol.interfaces import Interface
from poppy_operations.protocol.operation import DeclineStatement, ReturnedOperation


@dataclass(frozen=True)
class SiteAnswer:
    """The site's own answer, whether it performed the action or refused the request."""

    result: Any


@dataclass(frozen=True)
class ApprovalRequired:
    """The operation that needs approval (4). Some interfaces send only its reference.

    ``under_way``: the operation is being performed, or nobody knows whether it took effect.
    """

    operation: ReturnedOperation
    sid: str = ""
    ref: str = ""
    watch: str = ""
    under_way: bool = False
    differing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Declined:
    """The Company does not act on this approval (6)."""

    statement: DeclineStatement


@dataclass(frozen=True)
class StillPerforming:
    """The action is being performed, or nobody knows whether it took effect (7)."""

    operation_id: str
    retry_after_s: int


@dataclass(frozen=True)
class Replay:
    """The answer of an operation that was performed before (7)."""

    operation: ApprovedOperation
    performance: Performance

    @property
    def operation_id(self) -> str:
        """The operation whose answer it is."""
        return self.operation.operation_id or ""


@dataclass(frozen=True)
class PlainlyPerformed:
    """It was performed; its answer is not for this request, or cannot be given again (AMB-07)."""

    operation_id: str


@dataclass(frozen=True)
class Undeclared:
    """Approval is needed, and this agent may not get an operation (2)."""

    result: Any = None


@dataclass(frozen=True)
class ErrorAnswer:
    """An error of the core protocol: the code and status of ``protocol.errors``."""

    code: str
    members: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int | None = None


INVALID_REQUEST = ErrorAnswer("invalid_request")
INVALID_SESSION = ErrorAnswer("invalid_session")
EXTENSION_REQUIRED = ErrorAnswer("extension_required", {"extension": EXTENSION})
BUSY = ErrorAnswer("temporarily_unavailable", headers={"Retry-After": "1"})


@dataclass(frozen=True)
class OperationStatus:
    """The state of an approved operation, as the endpoint tells it (6)."""

    operation_id: str
    status: str


@dataclass(frozen=True)
class Recorded:
    """The approval is on record; nothing is performed yet (6)."""


Answer = (
    SiteAnswer
    | ApprovalRequired
    | Declined
    | StillPerforming
    | Replay
    | PlainlyPerformed
    | Undeclared
    | ErrorAnswer
)
EndpointAnswer = ApprovalRequired | Declined | OperationStatus | Recorded | ErrorAnswer


@dataclass(frozen=True)
class Answered:
    """An answer, and the interface in whose form it is given."""

    answer: Answer
    interface: Interface


@dataclass(frozen=True)
class Lost:
    """The try was lost, and the request is to be looked at again.

    ``by_others``: another request's success ended the try, so that one of them gets on each time.
    If it is false, the next try may be lost in the same way.
    """

    by_others: bool = field(default=True, compare=False)


@dataclass(frozen=True)
class OtherTerms:
    """The terms changed between the checks and the action; nothing was performed (check 3)."""

    terms: Terms


Outcome = Answer | Lost | OtherTerms
