"""PgBouncer in front of PostgreSQL: every transaction may get another server connection."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from example_project.tour.server import free_port

# Far fewer than there are requests at once, so that they take turns on each connection.
POOL_SIZE = 3
START_S = 30
CONFIGURATION = """\
[databases]
{database} = {server}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {size}
"""


def program() -> str | None:
    """Find PgBouncer, which Debian keeps where only root looks for programs."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


@contextmanager
def pooled(settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the settings of a PostgreSQL database behind a pooler of the test's own.

    Raises ``FileNotFoundError`` where PgBouncer is not installed.
    """
    found = program()
    if found is None:
        message = "PgBouncer is not installed."
        raise FileNotFoundError(message)
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="poppy-pooler-") as folder:
        configuration = Path(folder) / "pgbouncer.ini"
        configuration.touch(mode=0o600)
        configuration.write_text(_configuration(settings, port))
        process = subprocess.Popen(
            [found, "--quiet", *_as_somebody(Path(folder)), str(configuration)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        behind = {
            **settings,
            "HOST": "127.0.0.1",
            "PORT": str(port),
            # As Django's documentation asks for, behind a pooler of transactions.
            "DISABLE_SERVER_SIDE_CURSORS": True,
        }
        try:
            _wait_for(port)
            yield behind
        finally:
            process.terminate()
            process.wait(START_S)


def _configuration(settings: Mapping[str, Any], port: int) -> str:
    names = {"HOST": "host", "PORT": "port", "NAME": "dbname", "USER": "user"}
    names["PASSWORD"] = "password"
    server = " ".join(f"{name}={settings[key]}" for key, name in names.items() if settings[key])
    return CONFIGURATION.format(database=settings["NAME"], server=server, port=port, size=POOL_SIZE)


def _as_somebody(folder: Path) -> list[str]:
    """Let root start it as somebody else, as it demands."""
    if os.getuid() != 0:
        return []
    user = pwd.getpwnam("nobody")
    for path in (folder, *folder.iterdir()):
        os.chown(path, user.pw_uid, user.pw_gid)
    return ["--user", user.pw_name]


def _wait_for(port: int) -> None:
    until = time.monotonic() + START_S
    while True:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), START_S):
            return
        assert time.monotonic() < until, "PgBouncer does not answer."
        time.sleep(0.05)
