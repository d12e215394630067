"""What importing the package costs whoever imports it."""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = {
    "celery": "a worker's alone",
    "cryptography": "for those who verify",
    "django": "settings may import the package, and are read before Django is set up",
    "jwt": "for those who verify",
    "mcp": "a server's alone",
    "psycopg": "a database",
    "rest_framework": "for those who have an API",
    "sqlite3": "a database",
}


def imported_by(statement: str) -> set[str]:
    """The outermost names of what is imported in a process of its own."""
    code = f"import json, sys; {statement}; print(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-c", code]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {name.partition(".")[0] for name in json.loads(printed)}


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert imported_by("import poppy_operations") & HEAVY.keys() == set()


def test_a_heavy_import_would_be_seen() -> None:
    assert imported_by("import poppy_operations.conf") & HEAVY.keys() == {"django"}
