"""What the gate answers, for the doors to put into their own form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpResponseBase

from poppy_operations.declarations.current import CurrentOperation
from poppy_operations.models import Performance
from poppy_operations.protocol import EXTENSION
from poppy_operations.protocol.operation import DeclineStatement, ReturnedOperation


@dataclass(frozen=True)
class SiteAnswer:
    """The site's own answer, whether it performed the action or refused the request."""

    response: HttpResponseBase


@dataclass(frozen=True)
class ApprovalRequired:
    """The refusal with an operation (4). On the website only its reference is given away.

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

    operation: CurrentOperation
    performance: Performance

    @property
    def operation_id(self) -> str:
        """The operation whose answer it is."""
        return self.operation.operation_id or ""


@dataclass(frozen=True)
class PlainlyPerformed:
    """It was performed; its answer is not shown here, or cannot be shown again (AMB-07)."""

    operation_id: str


@dataclass(frozen=True)
class Undeclared:
    """Approval is needed, and this agent may not get an operation (2)."""

    response: HttpResponseBase | None = None


@dataclass(frozen=True)
class Refused:
    """An error of the core protocol: the code and status of ``protocol.errors``."""

    code: str
    members: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int | None = None


INVALID_REQUEST = Refused("invalid_request")
INVALID_SESSION = Refused("invalid_session")
EXTENSION_REQUIRED = Refused("extension_required", {"extension": EXTENSION})
BUSY = Refused("temporarily_unavailable", headers={"Retry-After": "1"})


@dataclass(frozen=True)
class Status:
    """Where an approved operation stands, at the endpoint (6)."""

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
    | Refused
)
EndpointAnswer = ApprovalRequired | Declined | Status | Recorded | Refused
