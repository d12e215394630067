"""One attempt at a time, made without a door: the site's code is what a test says it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import time_machine
from asgiref.sync import async_to_sync, sync_to_async
from django.http import HttpResponse
from django.test import RequestFactory

from poppy_operations.declarations.current import CurrentOperation
from poppy_operations.declarations.terms import Terms
from poppy_operations.gate.answers import Outcome
from poppy_operations.gate.callers import Caller
from poppy_operations.gate.calls import Job
from poppy_operations.gate.performing import perform_approved
from poppy_operations.gate.performing.attempt import Attempt
from poppy_operations.gate.sync_and_async import adrive, drive
from poppy_operations.models import Operation, Performance, Revision
from poppy_operations.protocol.canonical import digest
from poppy_operations.protocol.interfaces import interface_called
from poppy_operations.site_responses import SiteResponses
from tests.lifecycle.rows import NOW, OWNER, approval_of, read, returned
from tests.shop import operations as shop
from tests.shop.models import Effect

TERMS = Terms({"sku": "jacket", "quantity": 1}, summary="Buy a jacket.")
OTHER_TERMS = Terms({"sku": "jacket", "quantity": 2}, summary="Buy two.")
DONE = HttpResponse("done", status=201)
ACTIONS = {"database": shop.buy, "external": shop.refund}


def nothing() -> None:
    """What a site's code does where a test says nothing else."""


class _Results(SiteResponses):
    """What the site's code returns, made final as a test says."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial

    def final(self, result: Any) -> Any:
        """The response as it is sent."""
        return self.trial.render(result)


@dataclass
class Trial:
    """One attempt: how it waits, what it reaches, and what the site's code does meanwhile."""

    effects: str = "database"
    mode: str = "sync"
    interface: str = "api"
    revision: Revision | None = None
    terms: Callable[[], Any] = field(default=lambda: TERMS)
    happen: Callable[[], Any] = nothing
    ending: Callable[[], Any] = field(default=lambda: DONE)
    render: Callable[[Any], Any] = field(default=lambda response: response)
    run: Attempt = field(init=False)

    def __post_init__(self) -> None:
        revision = self.revision or returned(
            action=ACTIONS[self.effects].name,
            interface=self.interface,
            slot=digest("slot"),
            terms=TERMS.text,
            terms_digest=TERMS.digest,
        )
        approval = approval_of(revision)
        if self.interface == "website":
            approval.recorded_for = revision
            approval.save()
        job = Job(
            action=ACTIONS[self.effects],
            results=_Results(self),
            request=RequestFactory().post("/buy/"),
            terms=self._terms,
            body=self._abody if self.mode == "async" else self._body,
            now=NOW,
        )
        self.run = Attempt.of(
            job, Caller(interface_called(self.interface), OWNER), revision, approval, None
        )

    def _terms(self) -> Any:
        return self.terms()

    def _effect(self, operation: CurrentOperation) -> None:
        assert operation.terms == TERMS.values
        assert operation.operation_id
        Effect.objects.create(kind=self.effects, key=operation.operation_id)
        self.happen()

    def _body(self, operation: CurrentOperation) -> Any:
        self._effect(operation)
        return self.ending()

    async def _abody(self, operation: CurrentOperation) -> Any:
        await sync_to_async(self._effect)(operation)
        await asyncio.sleep(0)
        ending = self.ending()
        return await ending if asyncio.iscoroutine(ending) else ending

    def again(self, **changes: Any) -> Trial:
        """Another attempt at the same operation, as a repeated request makes it."""
        revision = Revision.objects.select_related("operation").get(pk=self.run.revision.pk)
        changes = {"revision": revision, **changes}
        options = {name: getattr(self, name) for name in ("effects", "mode", "interface")}
        return Trial(**{**options, **changes, "interface": "api"})

    def lose(self) -> None:
        """Let the attempt be judged meanwhile, as if its lease had been over for long."""
        Operation.objects.filter(pk=self.run.operation.pk).update(
            state="open", attempt="c" * 32, approval=None, lease_until=None
        )

    def go(self) -> Outcome:
        """Run it to its end, whatever is raised, all at the moment when its request came."""
        with time_machine.travel(NOW, tick=False):
            return self.go_in_time()

    def go_in_time(self) -> Outcome:
        """The same, at whatever time it is."""
        if self.mode == "sync":
            return drive(perform_approved(self.run))
        outcome, raised = async_to_sync(self.ago)()
        if raised is not None:
            raise raised
        result: Outcome = outcome
        return result

    async def ago(self) -> tuple[Any, BaseException | None]:
        """Run it under an event loop. What is raised is given back: it could end the loop."""
        try:
            return await adrive(perform_approved(self.run)), None
        except BaseException as raised:  # noqa: BLE001  raised again outside
            return None, raised

    @property
    def operation(self) -> Operation:
        """The operation as it is stored now."""
        operation: Operation = read(self.run.operation)
        return operation

    @property
    def state(self) -> str:
        """Where the operation stands now; an unknown outcome is said so."""
        operation = self.operation
        return "unknown" if operation.outcome_unknown_since else operation.state

    @property
    def performance(self) -> Performance:
        """How it was performed, which it was."""
        return Performance.objects.get(operation=self.run.operation)


def effects_left() -> int:
    """How many effects stayed."""
    return Effect.objects.count()
