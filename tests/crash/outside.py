"""Something outside the database that actions reach: a file, written as safely as a file can be."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Barred(Exception):
    """The outside refuses an attempt that was given up; nothing happened."""


class Outside:
    """Does things for keys, and does them as often as it is asked: nothing here hides a double.

    Whoever wants something done takes a ticket first. ``outcome`` bars the tickets that were
    taken before, so that "it did not happen" stays true of them.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.path.touch()

    def ticket(self, key: str) -> int:
        """Say under which ticket an attempt that begins now may do something."""
        with self._locked() as file:
            return self._count(file, "barred", key)

    def do(self, key: str, ticket: int) -> None:
        """Do it. Raises ``Barred`` where the attempt was given up."""
        with self._locked() as file:
            if self._count(file, "barred", key) != ticket:
                raise Barred
            self._append(file, "done", key)

    def outcome(self, key: str) -> bool:
        """Say whether it happened; if it did not, no attempt until now can do it any more."""
        with self._locked() as file:
            if self._count(file, "done", key):
                return True
            self._append(file, "barred", key)
            return False

    def times(self, key: str) -> int:
        """How often it happened."""
        with self._locked() as file:
            return self._count(file, "done", key)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        file = os.open(self.path, os.O_RDWR | os.O_APPEND)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
        finally:
            os.close(file)

    def _count(self, file: int, word: str, key: str) -> int:
        lines = os.pread(file, os.fstat(file).st_size, 0).decode().splitlines()
        return lines.count(f"{word} {key}")

    def _append(self, file: int, word: str, key: str) -> None:
        os.write(file, f"{word} {key}\n".encode())
        os.fsync(file)
