"""The pooler of the tests does what a pooler of transactions does."""

from __future__ import annotations

import pytest
from django.db import connections, transaction

from tests.databases.pooler import POOL_SIZE
from tests.databases.sites import ISOLATED

pytestmark = [
    pytest.mark.servers,
    pytest.mark.parametrize(
        "running", [ISOLATED["postgres-pooled"]], ids=["pooled"], indirect=True, scope="module"
    ),
]


def test_more_clients_than_connections_take_turns(db: None) -> None:
    clients = [connections.create_connection("default") for _ in range(2 * POOL_SIZE)]
    lent: list[int] = []
    for client in clients:
        with client.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            lent.append(cursor.fetchone()[0])
    for client in clients:
        client.close()
    assert len(set(lent)) <= POOL_SIZE


def test_a_connection_is_lent_for_one_transaction(db: None) -> None:
    first, second = (connections.create_connection("default") for _ in range(2))
    pids = []
    with transaction.atomic(), connections["default"].cursor() as held:
        held.execute("SELECT pg_backend_pid()")
        pids.append(held.fetchone()[0])
        for client in (first, second):
            with client.cursor() as cursor:
                cursor.execute("SELECT pg_backend_pid()")
                pids.append(cursor.fetchone()[0])
    first.close()
    second.close()
    # The second client got what the first one had, and neither got what a transaction holds.
    assert pids[0] not in pids[1:]
    assert pids[1] == pids[2]
