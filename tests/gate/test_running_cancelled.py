"""Requests that end in the middle: each step runs to its end, and the claim is never forgotten."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from poppy_operations.declarations.outcomes import NotPerformed
from poppy_operations.gate.answers import SiteAnswer
from poppy_operations.gate.performing.attempt import Attempt
from poppy_operations.lifecycle import claims, finishing
from tests.gate.runs import DONE, Trial, effects_left
from tests.lifecycle.rows import facts

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def cancelled_while(attempt: Trial, place: Any, name: str, monkeypatch: Any) -> Any:
    """Run the attempt and cancel its request while ``name`` is running in the request's thread."""
    original = getattr(place, name)
    at: dict[str, Any] = {}

    def cancelling(*args: Any, **options: Any) -> Any:
        if at:
            at.pop("loop").call_soon_threadsafe(at.pop("task").cancel)
        return original(*args, **options)

    async def request() -> tuple[Any, BaseException | None]:
        at["task"] = asyncio.ensure_future(attempt.ago())
        at["loop"] = asyncio.get_running_loop()
        result: tuple[Any, BaseException | None] = await at["task"]
        return result

    monkeypatch.setattr(place, name, cancelling)
    outcome, raised = async_to_sync(request)()
    assert not at, f"{name} was never called"
    assert outcome is None
    assert isinstance(raised, asyncio.CancelledError)


@pytest.mark.parametrize("effects", ["database", "external"])
def test_cancelled_at_begin_the_claim_is_given_back(effects: str, monkeypatch: Any) -> None:
    attempt = Trial(effects, "async")
    cancelled_while(attempt, claims, "begin", monkeypatch)
    assert (attempt.state, effects_left()) == ("open", 0)
    assert facts(attempt.run.operation)["attempt"] != attempt.run.token


@pytest.mark.parametrize("effects", ["database", "external"])
def test_cancelled_at_a_begin_that_was_lost_nothing_changes(effects: str, monkeypatch: Any) -> None:
    attempt = Trial(effects, "async")
    attempt.again(mode="sync").run.begin()
    cancelled_while(attempt, claims, "begin", monkeypatch)
    assert (attempt.state, effects_left()) == ("performing", 0)


def test_cancelled_while_the_terms_are_asked_again_it_is_released(monkeypatch: Any) -> None:
    attempt = Trial("database", "async")
    cancelled_while(attempt, attempt, "terms", monkeypatch)
    assert (attempt.state, effects_left()) == ("open", 0)


@pytest.mark.parametrize(
    ("effects", "state", "left"), [("database", "open", 0), ("external", "unknown", 1)]
)
def test_cancelled_in_a_query_of_the_body_it_ends_as_that(
    effects: str, state: str, left: int, monkeypatch: Any
) -> None:
    attempt = Trial(effects, "async")
    cancelled_while(attempt, attempt, "happen", monkeypatch)
    assert (attempt.state, effects_left()) == (state, left)


@pytest.mark.parametrize(
    ("effects", "state", "left"), [("database", "open", 0), ("external", "unknown", 1)]
)
def test_cancelled_while_the_body_waits_it_ends_as_that(
    effects: str, state: str, left: int
) -> None:
    async def waiting() -> Any:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(3600)

    attempt = Trial(effects, "async", ending=waiting)
    with pytest.raises(asyncio.CancelledError):
        attempt.go()
    assert (attempt.state, effects_left()) == (state, left)


@pytest.mark.parametrize("effects", ["database", "external"])
def test_a_body_that_swallows_its_cancellation_is_performed(effects: str) -> None:
    async def swallowing() -> Any:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            task.uncancel()
        return DONE

    attempt = Trial(effects, "async", ending=swallowing)
    assert attempt.go() == SiteAnswer(DONE)
    assert attempt.state == "performed"


@pytest.mark.parametrize("interface", ["website", "api"])
@pytest.mark.parametrize(
    ("effects", "name"), [("database", "finish"), ("external", "finish_external")]
)
def test_cancelled_at_finish_it_is_performed(
    effects: str, name: str, interface: str, monkeypatch: Any
) -> None:
    attempt = Trial(effects, "async", interface)
    cancelled_while(attempt, finishing, name, monkeypatch)
    assert (attempt.state, effects_left()) == ("performed", 1)
    assert attempt.performance.status == 201


@pytest.mark.parametrize(
    ("effects", "state", "left"), [("database", "open", 0), ("external", "performed", 1)]
)
def test_cancelled_while_its_answer_is_rendered_nothing_that_happened_is_forgotten(
    effects: str, state: str, left: int, monkeypatch: Any
) -> None:
    attempt = Trial(effects, "async")
    cancelled_while(attempt, attempt, "render", monkeypatch)
    assert (attempt.state, effects_left()) == (state, left)


@pytest.mark.parametrize("effects", ["database", "external"])
def test_cancelled_at_the_release_it_is_released(effects: str, monkeypatch: Any) -> None:
    def sold_out() -> Any:
        raise NotPerformed

    attempt = Trial(effects, "async", ending=sold_out)
    cancelled_while(attempt, Attempt, "release", monkeypatch)
    assert attempt.state == "open"


def test_cancelled_while_an_unknown_outcome_is_marked_it_is_marked(monkeypatch: Any) -> None:
    def fault() -> Any:
        message = "a fault"
        raise ValueError(message)

    attempt = Trial("external", "async", ending=fault)
    cancelled_while(attempt, finishing, "mark_unknown", monkeypatch)
    assert attempt.state == "unknown"


@pytest.mark.parametrize("interruption", [SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("effects", ["database", "external"])
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_an_exit_in_the_sync_part_of_a_body_ends_it_like_any_exception(
    mode: str, effects: str, interruption: type[BaseException]
) -> None:
    def leave() -> None:
        raise interruption

    attempt = Trial(effects, mode, happen=leave)
    with pytest.raises(interruption):
        attempt.go()
    assert attempt.state == ("open" if effects == "database" else "unknown")


@pytest.mark.parametrize("name", ["terms", "render"])
@pytest.mark.parametrize(
    ("interruption", "raised"),
    [
        (SystemExit, SystemExit),
        (KeyboardInterrupt, KeyboardInterrupt),
        # Python makes it a fault where it would end an iteration of its own.
        (StopIteration, RuntimeError),
    ],
)
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_an_exit_in_sync_code_of_any_door_neither_stops_the_loop_nor_the_gate(
    mode: str, name: str, interruption: type[BaseException], raised: type[BaseException]
) -> None:
    def leave(*args: Any) -> Any:
        raise interruption

    attempt = Trial("database", mode)
    setattr(attempt, name, leave)
    with pytest.raises(raised):
        attempt.go()
    assert (attempt.state, effects_left()) == ("open", 0)
