"""The fake payment gateway: it moves money once for each key, and never forgets.

Its books are a SQLite file that no transaction of the shop reaches, as with a real one. Some
amounts are for trying things out: 0.13 is refused before any money moves, and 0.66 moves the
money and then fails to say so.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

REFUSED = Decimal("0.13")
FAILS_HALF_WAY = Decimal("0.66")
WAIT_FOR_LOCK_S = 20
SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    key TEXT NOT NULL UNIQUE,
    refund_id TEXT,
    order_id TEXT,
    amount TEXT,
    at TEXT NOT NULL
)
"""
COLUMNS = "kind, key, refund_id, order_id, amount, at"


class PaymentRefused(Exception):
    """The gateway refused before any money moved."""


class PaymentError(Exception):
    """Something went wrong at the gateway; the money may have moved."""


class KeyBarred(PaymentError):
    """The key is barred. No refusal: reconcile hears it as well, and has the next key be new."""


@dataclass(frozen=True)
class Entry:
    """A line in the gateway's books: a refund that happened, or a key that is barred."""

    kind: str
    key: str
    refund_id: str | None
    order_id: str | None
    amount: str | None
    at: str


class Gateway:
    """The gateway whose books are the file ``books``."""

    def __init__(self, books: Path) -> None:
        self.books = books

    def refund(self, *, key: str, order_id: str, amount: Decimal, delay_ms: int = 0) -> Entry:
        """Move the money back, once for each ``key``; answer ``delay_ms`` after it moved.

        Raises:
            PaymentRefused: the amount is refused; no money moved for this key.
            KeyBarred: the key is refused; no money moved for it, and none ever will.
            PaymentError: unknown to the caller whether the money moved.

        """
        if amount == REFUSED:
            message = "The bank refuses this amount."
            raise PaymentRefused(message)
        entry = self._moved(key, order_id, amount)
        if entry.kind == "bar":
            message = "This refund was given up and cannot be made any more under this key."
            raise KeyBarred(message)
        if (entry.order_id, entry.amount) != (order_id, str(amount)):
            message = "This key belongs to another refund."
            raise PaymentError(message)
        time.sleep(delay_ms / 1000)
        if amount == FAILS_HALF_WAY:
            message = "The connection to the bank was lost."
            raise PaymentError(message)
        return entry

    def _moved(self, key: str, order_id: str, amount: Decimal) -> Entry:
        refund_id = f"rfd_{secrets.token_hex(8)}"
        return self._written_once("refund", key, refund_id, order_id, str(amount))

    def bar(self, key: str) -> Entry:
        """Refuse ``key`` for ever, unless its money moved already; return what is true of it."""
        return self._written_once("bar", key, None, None, None)

    def look_up(self, key: str) -> Entry | None:
        """Return what the books say of ``key``."""
        with self._open() as books:
            return _entry(books, key)

    def entries(self) -> list[Entry]:
        """Return everything that ever happened, in order."""
        with self._open() as books:
            rows = books.execute(f"SELECT {COLUMNS} FROM entries ORDER BY number")  # noqa: S608  a constant
            return [Entry(*row) for row in rows]

    def forget_everything(self) -> None:
        """Begin new books."""
        with self._open() as books:
            books.execute("DELETE FROM entries")

    def _written_once(self, kind: str, key: str, *details: str | None) -> Entry:
        """Write a line unless the key has one; the unique key decides between rivals."""
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        with self._open() as books:
            books.execute(
                f"INSERT INTO entries ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?) "  # noqa: S608  a constant
                "ON CONFLICT (key) DO NOTHING",
                (kind, key, *details, now),
            )
            entry = _entry(books, key)
        assert entry is not None  # noqa: S101  it was there, or has just been written
        return entry

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.books, timeout=WAIT_FOR_LOCK_S)) as books:
            books.isolation_level = None
            books.execute(SCHEMA)
            books.execute("BEGIN IMMEDIATE")
            yield books
            books.execute("COMMIT")


def _entry(books: sqlite3.Connection, key: str) -> Entry | None:
    row = books.execute(f"SELECT {COLUMNS} FROM entries WHERE key = ?", (key,)).fetchone()  # noqa: S608  a constant
    return None if row is None else Entry(*row)
