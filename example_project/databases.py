"""Read a database URL, so that the demo runs on SQLite, PostgreSQL and MySQL or MariaDB."""

from __future__ import annotations

import sys
from importlib import import_module, util
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

SQLITE_OPTIONS = {
    # Writers wait for one another instead of failing at once: a transaction that reads first
    # and writes later cannot be upgraded when another writer came between, whatever the timeout.
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    # Readers go on while somebody writes; and a commit is on the disk once it is answered.
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
}
ENGINES = {
    "postgres": "django.db.backends.postgresql",
    "postgresql": "django.db.backends.postgresql",
    "mysql": "django.db.backends.mysql",
    "mariadb": "django.db.backends.mysql",
}


def database_from_url(url: str, *, base: Path) -> dict[str, object]:
    """Return Django's settings for a database URL.

    ``sqlite:///shop.sqlite3`` is a file below ``base``, ``sqlite:////tmp/shop.sqlite3`` an
    absolute path. Servers take ``scheme://user:password@host:port/name``, each part percent
    encoded, and options as the query, of which ``host`` (a socket's directory) replaces the host.

    Raises:
        ImproperlyConfigured: for a URL that names no database which the demo runs on.

    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        message = f"DATABASE_URL cannot be read: {error}."
        raise ImproperlyConfigured(message) from error
    if parts.scheme == "sqlite":
        return _sqlite(parts, base)
    if parts.scheme not in ENGINES:
        message = f"DATABASE_URL begins with sqlite, postgres or mysql, not {parts.scheme!r}."
        raise ImproperlyConfigured(message)
    name = unquote(parts.path.removeprefix("/"))
    if not name:
        message = "DATABASE_URL names no database: it ends with /name."
        raise ImproperlyConfigured(message)
    options = dict(parse_qsl(parts.query))
    engine = ENGINES[parts.scheme]
    if engine.endswith("mysql"):
        options.setdefault("charset", "utf8mb4")
        use_pure_python_driver()
    return {
        "ENGINE": engine,
        "NAME": name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", unquote(parts.hostname or "")),
        "PORT": "" if port is None else str(port),
        "OPTIONS": options,
    }


def _sqlite(parts: SplitResult, base: Path) -> dict[str, object]:
    path = unquote(parts.path.removeprefix("/"))
    if parts.netloc or not path:
        message = (
            "DATABASE_URL names no file: sqlite:///file.sqlite3 is a file of the project, "
            "sqlite:////path/file.sqlite3 any other."
        )
        raise ImproperlyConfigured(message)
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(base / path),
        "OPTIONS": SQLITE_OPTIONS,
    }


def use_pure_python_driver() -> None:
    """Let PyMySQL stand in where mysqlclient, which needs a compiler, is not installed."""
    if "MySQLdb" not in sys.modules and util.find_spec("MySQLdb") is None:
        import_module("pymysql").install_as_MySQLdb()
