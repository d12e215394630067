"""Parties that meet: in threads or in forked processes, each with a connection of its own."""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from threading import Barrier, BrokenBarrierError
from typing import Any

from django.db import connection, connections

from poppy_operations.lifecycle.durable import Busy

LONG = 60  # seconds that nothing takes, so that a fault ends the round
Party = Callable[[], str]


class _Meeting:
    """Where the parties of this process meet."""

    barrier: Any = None


def meet() -> None:
    """Wait until every party of the round has come."""
    _Meeting.barrier.wait(LONG)


def met(party: Callable[..., str], *args: Any, late: int = 0, **options: Any) -> Party:
    """A party that first waits for the others, and then for ``late`` answers of its database."""
    return partial(_met, late, partial(party, *args, **options))


def meet_late(late: int = 0) -> Callable[[], None]:
    """The same, as something to do in the middle of an action."""
    return partial(_meet_late, late)


def _met(late: int, party: Party) -> str:
    _meet_late(late)
    return party()


def _meet_late(late: int) -> None:
    meet()
    for _ in range(late):
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")


def _told(party: Party) -> str:
    try:
        return party()
    except Busy:
        return "busy"
    except Exception as error:  # noqa: BLE001  told as an answer that no round allows
        return "raised " + "".join(traceback.format_exception(error, limit=-4, chain=False))


def _come() -> None:
    meet()


def _leave() -> None:
    connections.close_all()
    with suppress(BrokenBarrierError):  # by a fault that is told already
        meet()


def _be_born(barrier: Any) -> None:
    _Meeting.barrier = barrier


class Together:
    """As many threads or processes as there are parties, for one round after the other."""

    def __init__(self, parties: int, by: str = "threads") -> None:
        self.parties, self.by = parties, by
        self._pool: Executor | None = None

    def __enter__(self) -> Together:
        if self.by == "threads":
            _Meeting.barrier = Barrier(self.parties)
            self._pool = ThreadPoolExecutor(self.parties)
            return self
        context = multiprocessing.get_context("fork")
        barrier = context.Barrier(self.parties)
        connections.close_all()  # which parent and children cannot share
        self._pool = ProcessPoolExecutor(self.parties, context, _be_born, (barrier,))
        self._all(_come)
        return self

    def __exit__(self, *raised: object) -> None:
        assert self._pool is not None
        try:
            self._all(_leave)
        finally:
            self._pool.shutdown()

    def go(self, parties: Sequence[Party]) -> list[str]:
        """Let the parties of one round go, and give what each was told."""
        assert len(parties) == self.parties, "one for each"
        assert self._pool is not None
        told = [self._pool.submit(_told, party) for party in parties]
        return [one.result(2 * LONG) for one in told]

    def _all(self, call: Callable[[], None]) -> None:
        assert self._pool is not None
        for done in [self._pool.submit(call) for _ in range(self.parties)]:
            done.result(LONG)
