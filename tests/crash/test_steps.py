"""A process is killed at each step of an action: nothing happens twice, and nothing is lost (7)."""

from __future__ import annotations

from typing import Any

import pytest
import time_machine

from tests.crash.cells import DOORS, EFFECTS, MEETINGS, Cell, bring_to_an_end
from tests.crash.dying import (
    OF_A_REQUEST,
    OF_A_WORKER,
    OF_ENQUEUEING,
    OF_THE_ACTION,
    kill_at,
)

pytestmark = [
    pytest.mark.crash,
    # Forked from a process with threads, such as pytest-xdist's; the child only dies.
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]
IN_THE_REQUEST = OF_A_REQUEST | OF_THE_ACTION
BEFORE_THE_WORKER = OF_A_REQUEST | OF_ENQUEUEING
IN_THE_WORKER = OF_A_WORKER | OF_THE_ACTION
meetings = pytest.mark.parametrize("meeting", MEETINGS, ids=lambda meeting: meeting.__name__)
effects = pytest.mark.parametrize("effects", EFFECTS)


@meetings
@effects
@pytest.mark.parametrize("door", [door for door in DOORS if door != "background"])
@pytest.mark.parametrize("step", IN_THE_REQUEST)
@pytest.mark.requirement("OPS-7-01", "OPS-7-08", "OPS-7-09")
def test_a_request_that_is_killed_has_its_effect_once(
    door: str, effects: str, step: str, meeting: Any, clock: time_machine.Traveller
) -> None:
    cell = Cell.approved(door, effects, clock)
    kill_at(IN_THE_REQUEST[step], cell.send)
    bring_to_an_end(cell, meeting)


@meetings
@effects
@pytest.mark.parametrize("step", BEFORE_THE_WORKER)
def test_a_request_that_is_killed_around_the_queue_has_its_effect_once(
    effects: str, step: str, meeting: Any, clock: time_machine.Traveller
) -> None:
    cell = Cell.approved("background", effects, clock)
    kill_at(BEFORE_THE_WORKER[step], cell.send)
    bring_to_an_end(cell, meeting)


@meetings
@effects
@pytest.mark.parametrize("step", IN_THE_WORKER)
def test_a_worker_that_is_killed_has_its_effect_once(
    effects: str, step: str, meeting: Any, clock: time_machine.Traveller
) -> None:
    cell = Cell.approved("background", effects, clock)
    assert not cell.is_performed()
    kill_at(IN_THE_WORKER[step], cell.deliver)
    bring_to_an_end(cell, meeting)
