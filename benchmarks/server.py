"""gunicorn on 127.0.0.1, and requests to it over sockets that stay open."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.calls import Sent
from benchmarks.results import PROJECT
from benchmarks.settings import HOST

WORKERS, THREADS = 2, 4
START_S, ANSWER_S = 30, 20


@contextmanager
def gunicorn() -> Iterator[int]:
    """Serve the site as this process has it, and give the port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = int(listener.getsockname()[1])
    command = [
        *(sys.executable, "-m", "gunicorn", "benchmarks.wsgi", f"--bind=127.0.0.1:{port}"),
        *(f"--workers={WORKERS}", f"--threads={THREADS}", "--keep-alive=30"),
        "--log-level=error",
    ]
    process = subprocess.Popen(command, cwd=PROJECT)
    try:
        _wait_for(port, process)
        yield port
    finally:
        process.terminate()
        process.wait(30)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    message = "gunicorn did not start."
    raise RuntimeError(message)


class Client:
    """One client, which sends a request once the last one was answered."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None

    def send(self, request: bytes) -> int:
        """Send a request and give the status; 0 where there was no answer."""
        try:
            if self._socket is None:
                self._socket = socket.create_connection(("127.0.0.1", self._port), ANSWER_S)
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.sendall(request)
            return self._answer(self._socket)
        except OSError:
            self.close()
            return 0

    def _answer(self, connection: socket.socket) -> int:
        received = b""
        while b"\r\n\r\n" not in received:
            received += _more(connection)
        head, _, body = received.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        named = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
        missing = int(named.get("content-length", "0")) - len(body)
        while missing > 0:
            missing -= len(_more(connection))
        if named.get("connection") == "close":
            self.close()
        return int(lines[0].split(" ")[1])

    def close(self) -> None:
        """Hang up."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _more(connection: socket.socket) -> bytes:
    part = connection.recv(65536)
    if not part:
        message = "The server hung up."
        raise ConnectionError(message)
    return part


def as_bytes(sent: Sent) -> bytes:
    """Spell a request as it goes over the wire."""
    named = {
        "Host": HOST,
        "Content-Type": sent.content_type,
        "Content-Length": str(len(sent.body)),
        **sent.headers,
    }
    lines = [f"{sent.method} {sent.path} HTTP/1.1", *(f"{key}: {v}" for key, v in named.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + sent.body
