"""Serve the demo shop, and beside it the demo agent."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from django.conf import settings
from django.core.management.base import BaseCommand

HOST = "127.0.0.1"
ADDRESSES = """
The shop:   http://{host}:{port}/          (alice or bob, password demo-password)
The admin:  http://{host}:{port}/admin/    (staff, password demo-password)
For agents: http://{host}:{port}/.well-known/poppy.json
"""
AGENT_ADDRESS = """
Begin here: http://{host}:{port}/          (Alice's Personal Agent: click through the story)
"""


class Command(BaseCommand):
    help = (
        "Serve the demo shop on 127.0.0.1, at the port that PORT names (8000), and in development "
        "the demo agent on the next one."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(ADDRESSES.format(host=HOST, port=settings.PORT))
        if not settings.DEBUG:
            serve_shop()
            return
        # Without it the process would be gone before the demo agent's is ended.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit())
        self.stdout.write(AGENT_ADDRESS.format(host=HOST, port=settings.PORT + 1))
        with demo_agent(settings.PORT + 1):
            serve_shop()


def serve_shop() -> None:
    """Serve the shop until it is told to end."""
    uvicorn.run("example_project.asgi:application", host=HOST, port=settings.PORT, access_log=False)


@contextmanager
def demo_agent(port: int) -> Iterator[None]:
    """Serve the demo agent meanwhile, in a process of its own: it holds an agent's keys."""
    process = subprocess.Popen(  # noqa: S603  our own interpreter and arguments
        [
            sys.executable,
            "-m",
            "uvicorn",
            "example_project.demo_agent.asgi:application",
            f"--host={HOST}",
            f"--port={port}",
            "--log-level=warning",
        ]
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait()
