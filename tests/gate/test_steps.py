"""The two ways to run the one algorithm differ in nothing but waiting."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import DatabaseError, connection, transaction

from poppy_operations.gate import transactions
from poppy_operations.gate.sync_and_async import Step, Steps, adrive, database, drive, site
from poppy_operations.gate.transactions import transacted
from tests.shop.models import Effect


def sync_door(steps: Steps[Any]) -> Any:
    return drive(steps)


def async_door(steps: Steps[Any]) -> Any:
    return async_to_sync(adrive)(steps)


DOORS = [sync_door, async_door]
Door = Callable[[Steps[Any]], Any]


def algorithm(log: list[str], *, fails: type[BaseException] | None = None) -> Steps[str]:
    first = yield from database(lambda: "first")
    log.append(first)
    try:
        second = yield from site(functools.partial(second_of, fails))
    except BaseException as raised:
        log.append(f"undone after {type(raised).__name__}")
        yield from database(lambda: log.append("undo"))
        raise
    log.append(second)
    return "end"


def second_of(fails: type[BaseException] | None) -> str:
    if fails is not None:
        raise fails
    return "second"


@pytest.mark.parametrize("door", DOORS)
def test_steps_run_one_after_the_other(door: Door) -> None:
    log: list[str] = []
    assert door(algorithm(log)) == "end"
    assert log == ["first", "second"]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("fails", [ValueError, asyncio.CancelledError])
def test_what_a_step_raises_is_the_algorithms_to_decide(
    door: Door, fails: type[BaseException]
) -> None:
    log: list[str] = []
    with pytest.raises(fails):
        door(algorithm(log, fails=fails))
    assert log == ["first", f"undone after {fails.__name__}", "undo"]


@pytest.mark.parametrize("door", DOORS)
def test_a_fault_that_the_algorithm_handles_is_over(door: Door) -> None:
    def handling() -> Steps[str]:
        try:
            yield from database(lambda: second_of(LookupError))
        except LookupError:
            return "handled"
        return "never"

    assert door(handling()) == "handled"


@pytest.mark.parametrize("door", DOORS)
def test_an_algorithm_without_steps_just_ends(door: Door) -> None:
    def nothing() -> Steps[str]:
        return "end"
        yield Step(lambda: None)

    assert door(nothing()) == "end"


async def coroutine(value: str) -> str:
    await asyncio.sleep(0)
    return value


class Awaited:
    async def __call__(self) -> str:
        return "called"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (functools.partial(coroutine, "partial"), "partial"),
        (lambda: coroutine("returned"), "returned"),
        (Awaited(), "called"),
        (lambda: "plain", "plain"),
    ],
)
def test_the_sites_code_may_be_a_coroutine_in_any_shape(
    call: Callable[[], Any], expected: str
) -> None:
    assert async_door(site(call)) == expected


def test_the_sites_coroutines_run_in_the_loop_and_our_calls_in_the_requests_thread() -> None:
    threads: dict[str, threading.Thread] = {}

    async def theirs() -> None:
        threads["theirs"] = threading.current_thread()

    def ours() -> None:
        threads["ours"] = threading.current_thread()

    def both() -> Steps[None]:
        yield from database(ours)
        yield from site(theirs)

    async_door(both())
    assert threads["ours"] is threading.current_thread()
    assert threads["theirs"] is not threads["ours"]


def test_our_own_calls_are_never_awaited_as_the_sites_are() -> None:
    pending = coroutine("pending")
    result = async_door(database(lambda: pending))
    assert result is pending
    pending.close()


def test_a_call_runs_to_its_end_before_its_cancellation_passes_on() -> None:
    log: list[str] = []

    async def request() -> None:
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(adrive(database(lambda: call(loop))))
        tasks.append(task)
        with pytest.raises(asyncio.CancelledError):
            await task

    def call(loop: asyncio.AbstractEventLoop) -> None:
        loop.call_soon_threadsafe(tasks[0].cancel)
        loop.call_soon_threadsafe(tasks[0].cancel)
        # The loop has taken both to heart before the call goes on.
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result()
        log.append("to the end")

    tasks: list[asyncio.Future[Any]] = []
    async_to_sync(request)()
    assert log == ["to the end"]


def test_what_a_cancelled_call_raised_is_dropped_for_the_cancellation() -> None:
    async def request() -> None:
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(adrive(database(lambda: call(loop))))
        tasks.append(task)
        with pytest.raises(asyncio.CancelledError):
            await task

    def call(loop: asyncio.AbstractEventLoop) -> None:
        loop.call_soon_threadsafe(tasks[0].cancel)
        raise LookupError

    tasks: list[asyncio.Future[Any]] = []
    async_to_sync(request)()


def test_a_loop_that_ends_takes_its_calls_with_it() -> None:
    """As at the end of a server: every task is cancelled, the call's own included."""

    async def request() -> None:
        mine = asyncio.current_task()
        task = asyncio.ensure_future(adrive(database(lambda: None)))
        await asyncio.sleep(0)
        for other in asyncio.all_tasks() - {mine}:
            other.cancel()
        await asyncio.sleep(0)
        for other in asyncio.all_tasks() - {mine}:
            other.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async_to_sync(request)()


# Django's own transactions, opened by the gate


def rows() -> int:
    return Effect.objects.count()


def write() -> None:
    assert connection.in_atomic_block
    Effect.objects.create(kind="kind", key="key")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("door", DOORS)
def test_the_sites_steps_run_in_the_transactions_that_django_would_have_opened(door: Door) -> None:
    assert door(transacted(["default"], site(write))) is None
    assert rows() == 1
    assert not connection.in_atomic_block


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("door", DOORS)
def test_a_fault_rolls_them_back_and_passes(door: Door) -> None:
    def fail() -> None:
        write()
        raise LookupError

    with pytest.raises(LookupError):
        door(transacted(["default"], site(fail)))
    assert rows() == 0
    assert not connection.in_atomic_block


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("door", DOORS)
def test_without_aliases_nothing_is_opened(door: Door) -> None:
    assert door(transacted([], site(lambda: connection.in_atomic_block))) is False


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("door", DOORS)
def test_a_commit_that_fails_passes_its_error_on(door: Door, monkeypatch: Any) -> None:
    class Failing(ExitStack):
        def close(self) -> None:
            transaction.set_rollback(True)
            super().close()
            raise DatabaseError

    monkeypatch.setattr(transactions, "ExitStack", Failing)
    with pytest.raises(DatabaseError):
        door(transacted(["default"], site(write)))
    assert rows() == 0


@pytest.mark.django_db(transaction=True)
def test_an_awaiting_view_keeps_its_transaction_open_and_a_cancelled_one_rolls_back() -> None:
    async def view() -> None:
        await sync_to_async(write)()
        await asyncio.sleep(0)
        await sync_to_async(write)()
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        async_door(transacted(["default"], site(view)))
    assert rows() == 0
