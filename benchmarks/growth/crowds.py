"""The processes that serve the databases, as the one that measures sees them."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.processes import environment
from benchmarks.results import PROJECT

VENDOR = "postgres"


class Crowd:
    """A process that serves one database, and does as it is told."""

    def __init__(self, size: int, old: int, database: str, folder: Path) -> None:
        self.database, self.folder = database, folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.growth.crowd", str(size), str(old)],
            cwd=PROJECT,
            env=environment(VENDOR, database, folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def say(self, *words: object) -> None:
        """Tell it what to do."""
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        """Wait for what it answers."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            message = "A process of the benchmark has ended."
            raise RuntimeError(message)
        return json.loads(line)

    def ask(self, *words: object) -> Any:
        """Tell it what to do, and wait for the answer."""
        self.say(*words)
        return self.answer()

    def has_answered(self) -> bool:
        """Say whether an answer is there already."""
        assert self._process.stdout is not None
        return bool(select.select([self._process.stdout], [], [], 0)[0])

    def close(self) -> None:
        """Send it home."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)
