"""A process is killed at each statement and around each commit, one after the other (7)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any, NoReturn

import pytest
import time_machine

from poppy_operations import NotPerformed, maintenance
from poppy_operations.lifecycle import claims, queueing
from poppy_operations.models import Approval, Operation
from tests.crash.cells import EFFECTS, MEETINGS, Cell, bring_to_an_end
from tests.crash.dying import OF_THE_ACTION, Moment, is_killed, kill_at
from tests.crash.site import LEASE, moments

pytestmark = [
    pytest.mark.crash,
    # Forked from a process with threads, such as pytest-xdist's; the child only dies.
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]
effects = pytest.mark.parametrize("effects", EFFECTS)
Clock = time_machine.Traveller


class Broken(Exception):
    """The site's own code fails."""


def break_down() -> NoReturn:
    raise Broken


def refuse() -> NoReturn:
    raise NotPerformed


def kill_at_every_moment(
    prepared: Callable[[], Cell],
    run: Callable[[Cell, Moment], object],
    end: Callable[[Cell, Any], None] = bring_to_an_end,
    *,
    at_least: int,
) -> None:
    """Kill children that run something, each a moment later, until one comes to its end.

    What meets the operation first afterwards takes turns.
    """
    for number in count(1):
        cell = prepared()
        killed = is_killed(partial(run, cell, Moment(number)))
        try:
            end(cell, MEETINGS[number % len(MEETINGS)])
        except BaseException as failed:
            failed.add_note(f"The child was killed at moment {number}." if killed else "At the end")
            raise
        if not killed:
            assert number > at_least
            return


@effects
@pytest.mark.parametrize("door", ["website", "async", "api", "background"])
@pytest.mark.requirement("OPS-7-01")
def test_a_request_that_is_killed_at_any_moment_has_its_effect_once(
    door: str, effects: str, clock: Clock
) -> None:
    def run(cell: Cell, moment: Moment) -> None:
        moment.watch_from(claims, "begin")
        cell.send()

    at_least = 4 if door == "background" else 6
    kill_at_every_moment(lambda: Cell.approved(door, effects, clock), run, at_least=at_least)


@effects
def test_a_worker_that_is_killed_at_any_moment_has_its_effect_once(
    effects: str, clock: Clock
) -> None:
    def queued() -> Cell:
        cell = Cell.approved("background", effects, clock)
        assert not cell.is_performed()
        return cell

    def run(cell: Cell, moment: Moment) -> None:
        moment.watch_from(queueing, "start")
        cell.deliver()

    kill_at_every_moment(queued, run, at_least=6)


@pytest.mark.parametrize(
    ("effects", "when", "failure"),
    [
        ("database", "before_effect", break_down),
        ("database", "before_effect", refuse),
        ("database", "after_effect", break_down),
        ("database", "after_effect", refuse),
        ("external", "before_effect", break_down),
        ("external", "before_effect", refuse),
        # It may not say afterwards that nothing happened.
        ("external", "after_effect", break_down),
    ],
)
def test_a_request_that_fails_and_is_killed_at_any_moment_has_its_effect_once(
    effects: str, when: str, failure: Callable[[], NoReturn], clock: Clock
) -> None:
    def run(cell: Cell, moment: Moment) -> None:
        setattr(moments, when, failure)
        moment.watch_from(claims, "begin")
        with suppress(Broken):
            cell.send()

    kill_at_every_moment(lambda: Cell.approved("api", effects, clock), run, at_least=5)


@pytest.mark.parametrize("door", ["website", "api"])
def test_a_request_that_takes_over_and_is_killed_at_any_moment_has_its_effect_once(
    door: str, clock: Clock
) -> None:
    def abandoned() -> Cell:
        cell = Cell.approved(door, "database", clock)
        kill_at(OF_THE_ACTION["after the effect"], cell.send)
        cell.wait(LEASE)
        return cell

    def run(cell: Cell, moment: Moment) -> None:
        moment.watch_from(claims, "free")
        cell.send()

    kill_at_every_moment(abandoned, run, at_least=10)


@pytest.mark.parametrize("step", ["before the effect", "after the effect", "before finish"])
def test_a_reconciliation_that_is_killed_at_any_moment_loses_and_doubles_nothing(
    step: str, clock: Clock
) -> None:
    def abandoned() -> Cell:
        cell = Cell.approved("api", "external", clock)
        kill_at(OF_THE_ACTION[step], cell.send)
        cell.wait(LEASE)
        return cell

    def run(cell: Cell, moment: Moment) -> None:
        moment.watch()
        maintenance.reconcile()

    kill_at_every_moment(abandoned, run, at_least=5)


def test_an_ask_that_is_killed_at_any_moment_leaves_one_operation(clock: Clock) -> None:
    def run(cell: Cell, moment: Moment) -> None:
        moment.watch()
        cell.ask()

    def end(cell: Cell, meeting: Any) -> None:
        cell.ask()
        assert Operation.objects.filter(user_id=cell.session.user_id).count() == 1
        bring_to_an_end(cell, meeting)

    kill_at_every_moment(lambda: Cell("api", "database", clock), run, end, at_least=6)


def test_an_approval_that_is_killed_at_any_moment_is_recorded_once(clock: Clock) -> None:
    def asked() -> Cell:
        cell = Cell("website", "database", clock)
        cell.ask()
        return cell

    def run(cell: Cell, moment: Moment) -> None:
        moment.watch()
        cell.approve()

    def end(cell: Cell, meeting: Any) -> None:
        cell.approve()
        of_it = Approval.objects.filter(operation__operation_id=cell.operation_id)
        assert of_it.count() == 1
        bring_to_an_end(cell, meeting)

    kill_at_every_moment(asked, run, end, at_least=5)
