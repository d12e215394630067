"""On what was measured, and when."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks.results import RESULTS

MACHINE = RESULTS.with_name("bench-machine.json")


def keep_machine(*, postgres: str = "") -> None:
    """Note the machine beside the figures; the version of PostgreSQL where it is known."""
    known = {
        "date": datetime.now(UTC).date().isoformat(),
        "processor": _processor(),
        "processors": os.cpu_count() or 1,
        "busy": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "django": version("django"),
        "sqlite": sqlite3.sqlite_version,
        **({"postgres": postgres} if postgres else {}),
    }
    MACHINE.parent.mkdir(exist_ok=True)
    MACHINE.write_text(json.dumps({**read_machine(), **known}, indent=1) + "\n")


def read_machine() -> dict[str, str | int | float]:
    """Give what was noted last."""
    return json.loads(MACHINE.read_text()) if MACHINE.exists() else {}


def _processor() -> str:
    known = Path("/proc/cpuinfo")
    lines = known.read_text().splitlines() if known.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
