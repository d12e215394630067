"""Celery workers as processes of their own, on each broker."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis
from celery import Celery, _state, current_app
from django.db import connection

from tests.background import app
from tests.needed import missing
from tests.source import ROOT

BROKERS = {
    "rabbitmq": os.environ.get("POPPY_TEST_AMQP", "amqp://guest:guest@127.0.0.1:5672//"),
    "redis": os.environ.get("POPPY_TEST_REDIS", "redis://127.0.0.1:6379/9"),
}
PATIENCE_S = 60


def until(condition: Callable[[], bool], *, patience_s: float = PATIENCE_S) -> None:
    """Wait for what other processes do. Raises ``AssertionError`` where it never comes to be."""
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come to be"
        time.sleep(0.1)


def reachable(broker: str) -> str:
    """Give a broker's URL; where nobody answers, the test is skipped, or fails where it counts."""
    url = BROKERS[broker]
    try:
        with Celery("probe", broker=url, set_as_current=False).connection() as probe:
            probe.ensure_connection(max_retries=1, timeout=5)
    except Exception as error:  # noqa: BLE001  whatever a transport raises
        missing(f"{broker} cannot be reached: {error}")
    return url


@dataclass
class Workers:
    """The workers of one queue, and the app that enqueues for them."""

    broker: str
    folder: Path
    queue: str = field(default_factory=lambda: f"poppy-{secrets.token_hex(6)}")
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    app: Celery = field(init=False)

    def __post_init__(self) -> None:
        self.app = app.celery_app(self.broker, self.queue)

    def start(self, *, pool: str = "solo") -> subprocess.Popen[bytes]:
        """Start one worker. A message of ours is its to take, once it is there."""
        settings = {key: connection.settings_dict[key] for key in _KEYS}
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.background.settings",
            app.DATABASE: json.dumps(settings),
            app.FOLDER: str(self.folder),
            app.BROKER: self.broker,
            app.QUEUE: self.queue,
        }
        quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat")
        log = (self.folder / "worker.log").open("ab")
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "celery", "-A", "tests.background.worker", "worker"),
                *("--pool", pool, "--concurrency", "1", "--loglevel", "INFO", *quiet),
                *("-n", f"{secrets.token_hex(4)}@test"),
            ],
            cwd=ROOT,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that its children end with it
        )
        log.close()
        self.processes.append(process)
        return process

    def mark(self, moment: str) -> Path:
        """Have the next worker that comes to a moment die there."""
        mark = self.folder / f"die-{moment}"
        mark.touch()
        return mark

    def send(self, operation_id: str, attempt: str) -> None:
        """Send a message of an attempt, as often as a test wants."""
        name = "poppy_operations.perform"
        self.app.send_task(name, (operation_id, attempt), queue=self.queue)

    def stop(self) -> None:
        """End the workers of this test, and what they left at the broker."""
        for process in self.processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if self.broker.startswith("redis"):
            with redis.Redis.from_url(self.broker) as store:
                for key in store.scan_iter(f"{self.queue}*"):
                    store.delete(key)
        else:
            with self.app.connection() as connected:
                channel: Any = connected.default_channel
                channel.queue_delete(self.queue)
        self.app.close()

    def log(self) -> str:
        """What the workers wrote."""
        path = self.folder / "worker.log"
        return path.read_text() if path.exists() else ""


_KEYS = ("ENGINE", "NAME", "USER", "PASSWORD", "HOST", "PORT", "OPTIONS")


@contextmanager
def workers(broker: str, folder: Path) -> Iterator[Workers]:
    """Give workers of a queue of their own, whose app is the current one meanwhile."""
    found = Workers(reachable(broker), folder)
    before = current_app._get_current_object()
    found.app.set_current()
    try:
        yield found
    except BaseException:
        sys.stderr.write(found.log())
        raise
    finally:
        _state._set_current_app(before)
        found.stop()
