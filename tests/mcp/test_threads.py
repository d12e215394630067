"""Each call of a tool has a thread and connections of its own, which are closed after it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import SyncToAsync, ThreadSensitiveContext, sync_to_async
from django.db import connections, transaction
from mcp.server.mcpserver import Context

from poppy_operations import NotPerformed, Terms, operation_of
from poppy_operations.doors.mcp_threads import own_thread
from poppy_operations.mcp import django_tool
from poppy_operations.models import Operation, Performance
from tests.agents import approval_of
from tests.mcp.clients import ToolClient, operation_in, text_of
from tests.mcp.servers import OwnServer
from tests.shop.models import Effect

pytestmark = [
    pytest.mark.database,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("own_connections"),
]
TOGETHER = 12


def run(coroutine: Any) -> Any:
    """Run it as a server does, in an event loop of a thread in which nothing waits for it."""
    ended: list[Any] = []

    def loop() -> None:
        try:
            ended.append(asyncio.run(coroutine))
        except BaseException as error:  # noqa: BLE001  raised again below
            ended.append(error)

    thread = threading.Thread(target=loop)
    thread.start()
    thread.join()
    (end,) = ended
    if isinstance(end, BaseException):
        raise end
    return end


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The connections that were opened, by any thread."""
    seen: list[Any] = []
    kind = type(connections["default"])
    connect = kind.connect

    def noted(self: Any) -> None:
        seen.append(self)
        connect(self)

    monkeypatch.setattr(kind, "connect", noted)
    yield seen
    SyncToAsync.single_thread_executor.submit(connections.close_all).result()


async def at_once(tools: ToolClient, calls: list[dict[str, Any]]) -> list[Any]:
    """Make the calls at the same time, by one client."""
    async with tools.connected() as client:
        return await asyncio.gather(*(client.call_tool(**call) for call in calls))


async def slow(key: str, *, fails: bool = False) -> str:
    """Write, and let others have their turn meanwhile."""
    await sync_to_async(Effect.objects.create)(kind="mixed", key=key)
    await asyncio.sleep(0.05)
    if fails:
        raise NotPerformed
    return key


def terms(request: Any, key: str, fails: bool = False) -> Terms:
    """What is to be written."""
    return Terms({"key": key}, summary="Do it.")


@pytest.fixture
def mixed(own: OwnServer, tools: ToolClient) -> ToolClient:
    """Gated and other tools, sync and async, of which some fail after they have written."""
    add_gated(own)

    @own.server.tool()
    @django_tool
    async def plain(key: str) -> str:
        """Write, and wait."""
        return await slow(key)

    @own.server.tool()
    @django_tool
    def sync_plain(key: str) -> str:
        """Write, all or nothing."""
        with transaction.atomic():
            Effect.objects.create(kind="mixed", key=key)
        return key

    tools.server = own.server
    return tools


def add_gated(own: OwnServer) -> None:
    """Let the server have tools of one action."""
    action = own.action()

    @own.server.tool()
    @action.tool(terms=terms)
    async def gated(key: str, ctx: Context, fails: bool = False) -> str:
        """Write, and wait."""
        return await slow(operation_of(ctx).terms["key"], fails=fails)

    @own.server.tool()
    @action.tool(terms=terms)
    def sync_gated(key: str, ctx: Context, fails: bool = False) -> str:
        """Write."""
        Effect.objects.create(kind="mixed", key=operation_of(ctx).terms["key"])
        if fails:
            raise NotPerformed
        return key


def test_no_write_is_lost_where_one_of_many_fails(
    mixed: ToolClient, effects: Callable[[], list[str]], opened: list[Any]
) -> None:
    names = ["gated", "sync_gated", "gated", "sync_gated", "gated", "sync_gated"]
    fails = [False, False, True, True, False, False]
    operations = [
        mixed.ask(tool=name, arguments={"key": str(number), "fails": failing})
        for number, (name, failing) in enumerate(zip(names, fails, strict=True))
    ]
    opened.clear()
    calls: list[dict[str, Any]] = [
        {
            "name": name,
            "arguments": {"key": str(number), "fails": failing},
            "meta": {"personalagentprotocol.org/approval": approval_of(operation)},
        }
        for number, (name, failing, operation) in enumerate(
            zip(names, fails, operations, strict=True)
        )
    ]
    calls += [{"name": "plain", "arguments": {"key": f"p{number}"}} for number in range(3)]
    calls += [{"name": "sync_plain", "arguments": {"key": f"s{number}"}} for number in range(3)]
    results = run(at_once(mixed, calls))

    assert [one.is_error for one in results] == [*fails, *[False] * 6]
    kept = {f"mixed {key}" for key in ("0", "1", "4", "5", "p0", "p1", "p2", "s0", "s1", "s2")}
    assert sorted(effects()) == sorted(kept)
    assert Performance.objects.count() == 4
    assert Operation.objects.filter(state="open").count() == 2
    assert all(one.connection is None for one in opened)
    assert len(set(opened)) >= len(calls)


@pytest.mark.requirement("OPS-7-01")
@pytest.mark.parametrize("tool", ["order", "sync_order", "transfer"])
def test_one_approval_sent_together_is_performed_once(
    tool: str, tools: ToolClient, effects: Callable[[], list[str]]
) -> None:
    tools.tool = tool
    operation = tools.ask()
    call = {
        "name": tool,
        "arguments": {"sku": "jacket"},
        "meta": {"personalagentprotocol.org/approval": approval_of(operation)},
    }
    results = run(at_once(tools, [call] * TOGETHER))

    assert not any(one.is_error for one in results)
    done = [one for one in results if "in progress" not in text_of(one)]
    assert done
    assert {text_of(one) for one in done} == {text_of(tools.approve(operation))}
    assert len(effects()) == 1
    assert Performance.objects.count() == 1


def test_asks_at_the_same_time_are_one_operation(tools: ToolClient) -> None:
    call = {"name": "order", "arguments": {"sku": "jacket"}}
    results = run(at_once(tools, [call] * TOGETHER))

    assert len({operation_in(one)["operation_id"] for one in results}) == 1


def test_a_thread_is_a_calls_own_even_where_others_share_one() -> None:
    async def thread() -> str:
        return await sync_to_async(lambda: threading.current_thread().name)()

    async def in_own() -> tuple[str, str]:
        async with own_thread():
            first = await thread()
            async with own_thread():
                assert await thread() == first
            return first, await thread()

    async def shared() -> list[tuple[str, str]]:
        async with ThreadSensitiveContext():
            outer = await thread()
            found = await asyncio.gather(in_own(), in_own())
            assert await thread() == outer
            assert outer not in {name for pair in found for name in pair}
            return list(found)

    (one, other) = run(shared())
    assert one[0] == one[1]
    assert other[0] == other[1]
    assert one[0] != other[0]


def test_the_connections_are_closed_when_the_call_is_cancelled(opened: list[Any]) -> None:
    async def cancelled() -> None:
        async with own_thread():
            await sync_to_async(Effect.objects.count)()
            asyncio.current_task().cancel()  # type: ignore[union-attr]
            await asyncio.sleep(60)

    with pytest.raises(asyncio.CancelledError):
        run(cancelled())
    assert opened
    assert all(one.connection is None for one in opened)


def test_a_call_that_uses_no_database_opens_nothing(opened: list[Any]) -> None:
    async def nothing() -> str:
        async with own_thread():
            return "done"

    assert run(nothing()) == "done"
    assert opened == []
