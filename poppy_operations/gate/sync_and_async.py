"""How the one algorithm runs under sync and async doors.

The gate is written once, as a generator that yields steps. A sync door calls each step; an async
door runs the steps that touch the database in the request's own thread, each to its end whatever
happens to the request, and awaits the site's own coroutines in the event loop. So the two differ
only in how they wait.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast

from asgiref.sync import sync_to_async

from poppy_operations.lifecycle.durable import busy_if_unusable

T = TypeVar("T")


class Step(NamedTuple):
    """One call. ``site`` marks the site's own code, which may be a coroutine function."""

    call: Callable[[], Any]
    site: bool = False


Steps = Generator[Step, Any, T]


def database(call: Callable[[], T]) -> Steps[T]:
    """Run our own code that may touch the database; never interrupted half-way."""
    result: T = yield Step(call)
    return result


def deciding(call: Callable[[], T]) -> Steps[T]:
    """Run our own code before anything is performed.

    Raises ``Busy`` if the database is locked, unreachable or read-only.
    """
    with busy_if_unusable():
        return (yield from database(call))


def site(call: Callable[[], Any]) -> Steps[Any]:
    """Run the site's own code, sync or async; the caller checks what it returns."""
    return (yield Step(call, site=True))


def drive(steps: Steps[T]) -> T:
    """Run the steps one after the other, as a sync door does."""
    try:
        step = next(steps)
        while True:
            try:
                result = step.call()
            except BaseException as raised:  # noqa: BLE001  handed to the algorithm, which decides
                step = steps.throw(raised)
            else:
                step = steps.send(result)
    except StopIteration as end:
        outcome: T = end.value
        return outcome


async def adrive(steps: Steps[T]) -> T:
    """Run the steps under an event loop, as an async door does."""
    try:
        step = next(steps)
        while True:
            try:
                result = await _awaited(step)
            except BaseException as raised:  # noqa: BLE001  as above; cancellation included
                step = steps.throw(raised)
            else:
                step = steps.send(result)
    except StopIteration as end:
        outcome: T = end.value
        return outcome


async def _awaited(step: Step) -> Any:
    if step.site and inspect.iscoroutinefunction(step.call):
        return await step.call()
    result = await to_the_end(step.call)
    if step.site and inspect.isawaitable(result):
        return await result
    return result


async def to_the_end(call: Callable[[], T]) -> T:
    """Run a sync call in the request's thread, to its end even if the request is cancelled.

    If a claim were committed and then forgotten, its outcome would be unknown for no reason: a
    cancellation is passed on only after the call is over.
    """
    task = asyncio.ensure_future(sync_to_async(partial(_outcome, call), thread_sensitive=True)())
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as raised:
            if task.done():
                break
            cancelled = raised
    if cancelled is not None:
        raise cancelled
    result, raised_there = task.result()
    if raised_there is not None:
        raise raised_there
    return cast("T", result)


def _outcome(call: Callable[[], T]) -> tuple[T | None, BaseException | None]:
    """What a call returned or raised: a SystemExit raised in a task would end the event loop."""
    try:
        return call(), None
    except BaseException as raised:  # noqa: BLE001  raised again by ``to_the_end``
        return None, raised
