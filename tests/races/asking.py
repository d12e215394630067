"""One owner's wish, taken to the gate at any time without a server, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.test import RequestFactory

from poppy_operations import CurrentOperation, Decline, NotPerformed, Terms
from poppy_operations.company import Company
from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.doors.http_asker import HttpAsker
from poppy_operations.doors.http_content import http_content
from poppy_operations.gate import order
from poppy_operations.gate.answers import (
    Answer,
    ApprovalRequired,
    Declined,
    EndpointAnswer,
    ErrorAnswer,
    OperationStatus,
    Recorded,
    Replay,
    SiteAnswer,
    StillPerforming,
)
from poppy_operations.gate.callers import Caller
from poppy_operations.gate.calls import Call
from poppy_operations.gate.decision import Findings, decided
from poppy_operations.gate.references import at_endpoint
from poppy_operations.gate.sync_and_async import drive
from poppy_operations.lifecycle import claims
from poppy_operations.lifecycle.approving import stated
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.models import Revision
from poppy_operations.protocol.approval import ApprovalStatement, approval_from_json
from poppy_operations.protocol.ids import new_attempt
from poppy_operations.protocol.interfaces import WEBSITE
from poppy_operations.protocol.operation import ReturnedOperation
from poppy_operations.protocol.owner import Owner
from poppy_operations.protocol.structured import poppy_approval
from poppy_operations.sessions.session import Session
from poppy_operations.site_responses import SiteResponses
from tests.agents import HOST
from tests.crash import site
from tests.crash.outside import Barred
from tests.shop.models import Effect

NOW = datetime(2026, 10, 8, 19, 0, 0, 300_000, UTC)
SECOND = timedelta(seconds=1)
CLIENT_ID = "https://races.example/client"
DECLINE = "decline_this"
ACTIONS = {"database": site.in_database, "external": site.outside}
NUMBERS = count(1)


class RacesCompany(Company):
    """Declines whatever approval says so, as a policy that is changing at this moment would."""

    def decline(self, operation: CurrentOperation, approval: ApprovalStatement) -> Decline | None:
        """Decline by the agent's reference, which is no part of what is approved."""
        return Decline("No.") if approval.reference == DECLINE else None


def nothing() -> None:
    """Do nothing inside the action but the action."""


@dataclass(frozen=True)
class Asked:
    """What was returned for a wish."""

    returned: ReturnedOperation
    ref: str

    @property
    def last_moment(self) -> datetime:
        """The end of the last second in which its approval is accepted."""
        return datetime.fromtimestamp(self.returned.expires_at, UTC) + 0.9 * SECOND


@dataclass(frozen=True)
class Wish:
    """What one owner wants, through one interface, with effects of one kind."""

    number: int
    effects: str
    interface: str
    quantity: int = 1

    @classmethod
    def new(cls, effects: str, interface: str) -> Wish:
        """A wish of somebody who never wished anything before."""
        return cls(next(NUMBERS), effects, interface)

    def of_quantity(self, quantity: int) -> Wish:
        """The same action on other terms."""
        return replace(self, quantity=quantity)

    @property
    def on_website(self) -> bool:
        """Whether a browser sends it."""
        return self.interface == "website"

    @property
    def session(self) -> Session:
        """The Session that it is wished in."""
        return Session(CLIENT_ID, f"usr_{self.number}", None, f"ses_{self.number}", declared=True)

    @property
    def owner(self) -> Owner:
        """Whose operations come of it."""
        return self.session.owner

    def ask(self, now: datetime = NOW) -> Asked:
        """Ask for it, which is refused."""
        answer = self._answer(now, None, nothing)
        assert isinstance(answer, ApprovalRequired), answer
        return Asked(answer.operation, answer.ref)

    def approved(self, now: datetime = NOW) -> Asked:
        """Ask for it, with everything done that comes before the request that performs it."""
        asked = self.ask(now)
        if self.on_website:
            assert self.approve(now, asked) == "recorded"
        return asked

    def abandon(self, now: datetime, asked: Asked) -> None:
        """Begin to perform it in a process that then dies."""
        revision = Revision.objects.select_related("operation", "record").get(
            revision=asked.returned.revision
        )
        statement = approval_from_json(_approval(asked, "approve_this"))
        approval = getattr(revision, "record", None) or stated(
            statement, revision, sid=self.session.sid, now=now
        )
        action = ACTIONS[self.effects]
        assert claims.begin(
            revision.operation,
            approval,
            attempt=new_attempt(),
            effects=action.effects,
            lease_s=action.lease_s,
            now=now,
        )

    def send(
        self,
        now: datetime,
        asked: Asked,
        *,
        reference: str = "approve_this",
        inside: Callable[[], None] = nothing,
    ) -> str:
        """Send the request, with its approval where that is how it comes."""
        approval = None if self.on_website else _approval(asked, reference)
        return told(self._answer(now, approval, inside))

    def approve(self, now: datetime, asked: Asked, reference: str = "approve_this") -> str:
        """Send an approval to the endpoint."""
        request = self._request(_approval(asked, reference))
        return told(at_endpoint(HttpAsker(request), asked.ref, now))

    def look_up(self, now: datetime, asked: Asked) -> str:
        """Ask the endpoint where it stands."""
        return told(at_endpoint(HttpAsker(self._request(None)), asked.ref, now))

    def _request(self, approval: dict[str, Any] | None) -> HttpRequest:
        headers = {"host": HOST, "Poppy-Session": "verified already"}
        if approval is not None:
            headers["Poppy-Approval"] = poppy_approval(approval)
        request = RequestFactory().post("/wish/", headers=headers)
        request._poppy_verified = self.session  # type: ignore[attr-defined]  # as if it had been
        return request

    def _answer(
        self, now: datetime, approval: dict[str, Any] | None, inside: Callable[[], None]
    ) -> Answer:
        action: DeclaredAction = ACTIONS[self.effects]
        request = self._request(approval)
        call = Call(
            action=action,
            asker=HttpAsker(request),
            results=SiteResponses(),
            request=request,
            content=partial(
                http_content, request, action=action.name, data={"quantity": self.quantity}
            ),
            terms=lambda: Terms({"quantity": self.quantity}, same_action=("it",)),
            body=partial(BODIES[self.effects], inside),
            now=now,
        )
        if not self.on_website:
            return drive(order.request(call)).answer
        caller = Caller(WEBSITE, self.owner, self.session.sid)
        try:
            return drive(decided(Findings(call, caller)))
        except Busy as error:
            return order.busy(call, error)


def _approval(asked: Asked, reference: str) -> dict[str, Any]:
    return {
        "operation_id": asked.returned.operation_id,
        "revision": asked.returned.revision,
        "approver": "user",
        "reference": reference,
    }


def _write(inside: Callable[[], None], operation: CurrentOperation) -> HttpResponseBase:
    Effect.objects.create(kind=operation.action, key=site.key_of(operation))
    inside()
    return _done(operation)


def _reach_outside(inside: Callable[[], None], operation: CurrentOperation) -> HttpResponseBase:
    key = site.key_of(operation)
    ticket = site.stores.outside.ticket(key)
    inside()
    try:
        site.stores.outside.do(key, ticket)
    except Barred as barred:
        raise NotPerformed(HttpResponse(status=409)) from barred
    return _done(operation)


def _done(operation: CurrentOperation) -> HttpResponseBase:
    return JsonResponse({"done": operation.operation_id}, status=201)


BODIES = {"database": _write, "external": _reach_outside}


WORDS: dict[type, str] = {
    ApprovalRequired: "asked",
    Declined: "declined",
    Recorded: "recorded",
    Replay: "performed",
    StillPerforming: "performing",
}


def told(answer: Answer | EndpointAnswer) -> str:
    """Name an answer of the gate."""
    match answer:
        case SiteAnswer():
            status = answer.result.status_code
            return "performed" if status == 201 else f"site's {status}"
        case OperationStatus():
            return f"is {answer.status}"
        case ErrorAnswer():
            return "busy" if answer.code == "temporarily_unavailable" else answer.code
    return WORDS.get(type(answer), repr(answer))


def told_over_http(response: Any) -> str:
    """Name an answer as it arrives."""
    status = response.status_code
    if status in {201, 303}:
        return "performed"
    if response.has_header("Poppy-Operation"):
        return "asked"
    if status == 503 and response.has_header("Retry-After"):
        is_json = response["Content-Type"] == "application/json"
        is_performing = is_json and json.loads(response.content).get("status") == "performing"
        return "performing" if is_performing else "busy"
    return f"{status} {response.content!r}"
