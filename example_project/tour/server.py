"""A server of the tour's own: a port, a database and books that are gone afterwards."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from example_project.tour.commands import LAST_LINES, PROJECT, run_command
from example_project.tour.narration import Surprise

START_S = 60
LOOK_AGAIN_S = 0.05
ASGI = (
    "-m",
    "uvicorn",
    "example_project.asgi:application",
    "--host=127.0.0.1",
    "--port={port}",
    "--log-level=warning",
)
WSGI = (
    "-m",
    "gunicorn",
    "example_project.wsgi:application",
    "--bind=127.0.0.1:{port}",
    "--workers=2",
    "--threads=4",
    "--log-level=warning",
)
RUNSERVER = ("manage.py", "runserver", "127.0.0.1:{port}", "--noreload")


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


class Server:
    """The shop, seeded, with everything it keeps in a temporary folder.

    ``serve`` is how Python is asked to serve it, ``environment`` what it is told beyond that.
    """

    def __init__(self, serve: tuple[str, ...] = ASGI, **environment: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._folder = tempfile.TemporaryDirectory(prefix="stormline-tour-")
        self.folder = Path(self._folder.name)
        ours = {"PORT": str(self.port), "POPPY_DEMO_VAR": str(self.folder), "DJANGO_DEBUG": "1"}
        unset = {"DATABASE_URL", "POPPY_ISSUER", "POPPY_DEMO_LIFETIME", "CELERY_BROKER_URL"}
        kept = {name: value for name, value in os.environ.items() if name not in unset}
        self._environment = {
            **kept,
            **ours,
            "DJANGO_SETTINGS_MODULE": "example_project.settings",
            "PYTHONUNBUFFERED": "1",
            **environment,
        }
        self._serve = [argument.format(port=self.port) for argument in serve]
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.command("migrate", "--no-input", "--verbosity", "0")
            self.command("demo_seed")
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def command(self, *arguments: str) -> str:
        """Run a command of ``manage.py`` beside the server and return what it prints.

        Raises:
            Surprise: the command failed.

        """
        return run_command(*arguments, environment=self._environment)

    def last_words(self) -> str:
        """Return the end of the server's log."""
        log = self.folder / "server.log"
        if not log.exists():
            return ""
        return "\n".join(log.read_text(errors="replace").splitlines()[-LAST_LINES:])

    def _start(self) -> None:
        self._log = (self.folder / "server.log").open("wb")
        self._process = subprocess.Popen(  # noqa: S603  our own interpreter and arguments
            [sys.executable, *self._serve],
            cwd=PROJECT,
            env=self._environment,
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        deadline = time.monotonic() + START_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                message = f"The server did not start:\n{self.last_words()}"
                raise Surprise(message)
            time.sleep(LOOK_AGAIN_S)

    def _answers(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def _stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._log is not None:
            self._log.close()
        self._folder.cleanup()
