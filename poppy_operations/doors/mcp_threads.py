"""A thread and connections of its own for each call of a tool.

Outside Django's own handler all asynchronous code shares one thread, and so one connection: what
one call writes would be rolled back with another's transaction.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import partial, wraps
from typing import Any, TypeVar

from asgiref.sync import AsyncToSync, SyncToAsync, ThreadSensitiveContext, sync_to_async
from django.db import connections

from poppy_operations.declarations.callables import is_async
from poppy_operations.gate.sync_and_async import to_the_end

F = TypeVar("F", bound=Callable[..., Any])
_WITHIN: ContextVar[bool] = ContextVar("poppy_within_tool_call", default=False)


@asynccontextmanager
async def own_thread() -> AsyncIterator[None]:
    """Run what is synchronous inside in one thread of its own; its connections are closed after.

    A call within a call shares the thread of the outer one. If synchronous code waits for the
    call in its own thread, as tests do, that thread is used, and its connections stay open.
    """
    if _WITHIN.get() or getattr(AsyncToSync.executors, "current", None):
        yield
        return
    # Whoever was outside may serve other calls in its own meanwhile, or have ended.
    context = ThreadSensitiveContext()
    outer = SyncToAsync.thread_sensitive_context.set(context)
    within = _WITHIN.set(True)
    try:
        yield
    finally:
        try:
            await to_the_end(connections.close_all)
        finally:
            _WITHIN.reset(within)
            SyncToAsync.thread_sensitive_context.reset(outer)
            SyncToAsync.context_to_thread_executor.pop(context).shutdown()


def django_tool(function: F) -> F:
    """Give each call of a tool a thread and connections of its own, as gated tools have them.

    For tools that use Django's database and no action: it goes below the SDK's ``tool`` decorator,
    on a function or a coroutine function.
    """
    if not inspect.isroutine(function) or isinstance(function, staticmethod | classmethod):
        message = "@django_tool goes on a function, below the SDK's tool decorator."
        raise TypeError(message)

    @wraps(function)
    async def in_own_thread(*args: Any, **kwargs: Any) -> Any:
        call: Callable[[], Awaitable[Any]]
        if is_async(function):
            call = partial(function, *args, **kwargs)
        else:
            call = partial(sync_to_async(function), *args, **kwargs)
        async with own_thread():
            return await call()

    result: F = in_own_thread  # type: ignore[assignment]  # the SDK awaits it; nobody else calls it
    return result
