"""How long a process holds what it has written, as another connection sees it."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Any, Self

import psycopg

from tests.databases import postgres

LOOK_EVERY_S = 0.003
# A transaction with an ID of its own has written; what it wrote is locked until it ends.
HELD = """
    SELECT extract(epoch FROM clock_timestamp() - xact_start) FROM pg_stat_activity
    WHERE pid = %s AND backend_xid IS NOT NULL
"""


class Locks:
    """Watches one server process while the block runs; ``longest_s`` is what it saw."""

    def __init__(self, database: str, pid: int) -> None:
        self.longest_s = 0.0
        self._database, self._pid = database, pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        where: dict[str, Any] = postgres()
        with psycopg.connect(
            host=where["HOST"],
            port=where["PORT"],
            user=where["USER"],
            password=where["PASSWORD"],
            dbname=self._database,
            autocommit=True,
        ) as connection:
            while not self._over.is_set():
                for (held,) in connection.execute(HELD, [self._pid]):
                    self.longest_s = max(self.longest_s, float(held))
                time.sleep(LOOK_EVERY_S)
