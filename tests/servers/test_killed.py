"""What becomes of an action whose server process is killed in the middle of it (7)."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path

import pytest

from example_project.tour.web import Answer
from tests.servers.shop import EXCHANGE, EXCHANGES, REFUNDS, Approval, SessionAt, Shop

pytestmark = pytest.mark.servers
SLOW_MS = 3_000  # Shorter than the lease, and long enough to be killed in the middle.
SLOW = {"delay_ms": SLOW_MS}
PATIENCE_S = 40
LOOK_AGAIN_S = 0.05


def until(is_so: Callable[[], bool]) -> None:
    """Wait for other processes."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(LOOK_AGAIN_S)


def kill_workers(shop: Shop) -> None:
    """Kill every process that answers requests; the one that started them starts others."""
    assert shop.server._process is not None
    master = shop.server._process.pid
    for worker in Path(f"/proc/{master}/task/{master}/children").read_text().split():
        os.kill(int(worker), signal.SIGKILL)


def is_under_way(shop: Shop, approval: Approval) -> bool:
    query = "SELECT state FROM poppy_operations_operation WHERE operation_id = %s"
    return shop.in_database(query, str(approval["operation_id"])) == "performing"


def begun(
    threads: ThreadPoolExecutor, agent: SessionAt, path: str, content: object
) -> tuple[Approval, Future[Answer]]:
    """Have an action begin that will take its time."""
    approval = agent.asked(path, content)
    request = threads.submit(agent.post, path, content, approval)
    until(lambda: request.done() or is_under_way(agent.shop, approval))
    assert not request.done()
    return approval, request


@pytest.mark.requirement("OPS-7-01", "OPS-7-08", "OPS-7-09")
def test_an_action_whose_worker_is_killed_happens_once(shop: Shop) -> None:
    agent = SessionAt(shop, "killed")
    refund, exchange = {"amount": "21.00", **SLOW}, {**EXCHANGE, **SLOW}
    with ThreadPoolExecutor(2) as threads:
        # On SQLite the exchange keeps everybody else from writing until it is killed.
        refund_approval, refunding = begun(threads, agent, REFUNDS, refund)
        exchange_approval, exchanging = begun(threads, agent, EXCHANGES, exchange)
        kill_workers(shop)
        for request in (refunding, exchanging):
            assert isinstance(request.exception(), OSError | HTTPException)

    def repeat(path: str, content: object, approval: Approval) -> Answer | None:
        try:
            answer = agent.post(path, content, approval)
        except (OSError, HTTPException):
            return None  # The new workers are not there yet.
        if answer.status == 503:
            assert int(answer.header("Retry-After") or 0) > 0
        return answer

    def is_performed(path: str, content: object, approval: Approval) -> bool:
        answer = repeat(path, content, approval)
        # Nothing may read like a failure meanwhile.
        assert answer is None or answer.status in {201, 503}, answer.text
        return answer is not None and answer.status == 201

    # The exchange needs nobody's help, once its lease is over.
    until(lambda: is_performed(EXCHANGES, exchange, exchange_approval))
    # The money has moved, and nobody says anything else until the gateway is asked.
    assert not is_performed(REFUNDS, refund, refund_approval)
    until(lambda: json.loads(shop.server.command("poppy_stuck", "--json")) != [])
    ended = json.loads(shop.server.command("poppy_reconcile", "--json"))
    assert (ended["performed"], ended["still_unknown"]) == (1, 0)
    assert is_performed(REFUNDS, refund, refund_approval)
    assert sorted(shop.new_effects()) == [
        ("exchange", exchange_approval["operation_id"]),
        ("refund", refund_approval["operation_id"]),
    ]
    assert json.loads(shop.server.command("poppy_stuck", "--json")) == []
