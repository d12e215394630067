"""One operation of the crash matrix: how it is asked for, approved, repeated and ended."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any

import time_machine

from poppy_operations import maintenance
from poppy_operations.background import perform_attempt
from poppy_operations.conf import conf
from poppy_operations.maintenance import requeueing
from poppy_operations.models import Operation
from tests.agents import AGENT, ISSUER, SessionOf, reference
from tests.asking import GatedRequest
from tests.crash.site import LEASE, stores, times

NUMBERS = count(1)
MARGIN = timedelta(seconds=1)
WORKERS_WAIT = requeueing.AGAIN_AFTER
DOORS = ("website", "async", "api", "background")
EFFECTS = ("database", "external")


@dataclass
class Cell:
    """An operation of an agent's Session that nobody else has to do with."""

    door: str
    effects: str
    clock: time_machine.Traveller
    session: SessionOf = field(init=False)
    request: GatedRequest = field(init=False)
    _first_answer: bytes | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        number = next(NUMBERS)
        self.session = SessionOf(AGENT, ISSUER, f"usr_{number}", f"ses_{number}")
        browser = self.session.browser() if self.on_website else None
        path = f"/{self.door}/{self.effects}/"
        self.request = GatedRequest(self.session, path, {"thing": "it"}, browser)

    @classmethod
    def approved(cls, door: str, effects: str, clock: time_machine.Traveller) -> Cell:
        """Give an operation that was asked for and approved, and nothing else."""
        cell = cls(door, effects, clock)
        cell.ask()
        cell.approve()
        assert cell.times == 0
        return cell

    def ask(self) -> None:
        """Ask for the first time, and learn what to approve."""
        self.request.ask()

    def approve(self) -> None:
        """Approve at the endpoint what the website asked for; elsewhere requests carry it."""
        self.request.approve()

    @property
    def operation_id(self) -> str:
        """The operation that was returned."""
        return self.request.operation_id

    @property
    def on_website(self) -> bool:
        """Whether a browser asks, and the approval is recorded at the endpoint."""
        return self.door in {"website", "async"}

    @property
    def in_background(self) -> bool:
        """Whether a worker performs it."""
        return self.door == "background"

    @property
    def times(self) -> int:
        """How often it really happened."""
        return times(self.effects, self.operation_id)

    def send(self) -> Any:
        """Send the request, with the approval where there is one."""
        return self.request.send()

    def deliver(self) -> None:
        """Deliver every message that was ever enqueued for it, as a worker gets them."""
        if stores.queue.exists():
            for line in stores.queue.read_text().splitlines():
                operation_id, attempt = json.loads(line)
                if operation_id == self.operation_id:
                    perform_attempt(operation_id, attempt)

    def is_performed(self) -> bool:
        """Repeat the request; say whether it is performed now. Nothing may read like a failure."""
        answer = self.send()
        performed = self._in_browser(answer) if self.on_website else self._in_api(answer)
        assert self.times <= 1
        assert not performed or self.times == 1
        return performed

    def _in_browser(self, answer: Any) -> bool:
        if answer.status_code == 303:
            return True
        assert answer.status_code == 403, answer.content
        _, further = reference(answer)
        assert further != self.request.ref
        return self.is_performed_by_status()

    def _in_api(self, answer: Any) -> bool:
        if answer.status_code == 503:
            assert int(answer["Retry-After"]) > 0
            return False
        assert answer.status_code in {200, 201}, (answer.status_code, answer.content)
        # The first answer, however often it is asked for.
        assert self._first_answer in {None, answer.content}
        self._first_answer = answer.content
        return True

    def is_performed_by_status(self) -> bool:
        """Ask the endpoint, once somebody has begun."""
        state = self.request.status()
        assert state in {"performing", "performed"}
        return state == "performed"

    def look_up(self) -> None:
        """Have whoever asks for its state be the first to meet it."""
        if self.on_website:
            assert self.request.status() in {"approved", "performing", "performed"}

    def wait(self, time: timedelta) -> None:
        """Let time pass."""
        self.clock.shift(time + MARGIN)


def meet_by_request(cell: Cell) -> None:
    """Repeat the request once the attempt is over, and nothing else."""
    cell.wait(conf.queue_lease if cell.in_background else 2 * LEASE)


def meet_by_look_up(cell: Cell) -> None:
    """Look it up, or deliver its messages again, before anything else."""
    cell.deliver()
    meet_by_request(cell)
    cell.look_up()


def meet_by_maintenance(cell: Cell) -> None:
    """Let maintenance come by before anything else."""
    cell.wait(WORKERS_WAIT if cell.in_background else 2 * LEASE)
    maintenance.reconcile()
    maintenance.requeue()
    cell.deliver()


MEETINGS = (meet_by_request, meet_by_look_up, meet_by_maintenance)


def bring_to_an_end(cell: Cell, meeting: Any) -> None:
    """Repeat, ask and maintain after a crash: it happened, once, and nobody had to help."""
    assert cell.times <= 1
    if meeting is not meet_by_maintenance:
        cell.is_performed()
    meeting(cell)
    if cell.effects == "external":
        cell.is_performed()
        cell.deliver()
        maintenance.reconcile()
        assert_definite(cell)
    repeat_until_performed(cell)
    for _ in range(2):
        cell.deliver()
        assert cell.is_performed()
        assert not cell.on_website or cell.is_performed_by_status()
    assert cell.times == 1
    assert cell.operation_id not in {stuck.operation_id for stuck in maintenance.stuck()}


def repeat_until_performed(cell: Cell) -> None:
    """One request is enough; in the background, a message to a worker beside it."""
    if cell.in_background:
        cell.is_performed()
        cell.deliver()
    assert cell.is_performed()


def assert_definite(cell: Cell) -> None:
    """Nobody asks any more what became of an attempt that had been started."""
    operation = Operation.objects.get(operation_id=cell.operation_id)
    queued = operation.state == Operation.State.PERFORMING and operation.started_at is None
    assert queued or operation.state in {Operation.State.OPEN, Operation.State.PERFORMED}
