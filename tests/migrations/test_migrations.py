"""The migrations are what the models say, whatever the site's settings, and can be undone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.db.migrations import RunPython, RunSQL
from django.db.migrations.loader import MigrationLoader

from tests.source import ROOT

APP = "poppy_operations"
NAMED = re.compile(r"\d{4}_[a-z][a-z0-9_]*")


def tables() -> set[str]:
    with connection.cursor() as cursor:
        names = connection.introspection.table_names(cursor)
    return {name for name in names if name.startswith(APP)}


def migrations() -> Iterator[tuple[str, object]]:
    loader = MigrationLoader(None, ignore_no_migrations=True)
    yield from ((name, one) for (app, name), one in loader.disk_migrations.items() if app == APP)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "keys"), [("en", "BigAutoField"), ("de", "AutoField"), ("ar", "BigAutoField")]
)
def test_no_site_is_asked_for_a_migration_of_ours(language: str, keys: str, tmp_path: Path) -> None:
    # In a process of its own: what a model fixes at import, it fixes in the site's language.
    (tmp_path / "other_site.py").write_text(
        "from tests.settings import *\n"
        f"LANGUAGE_CODE = {language!r}\n"
        f"DEFAULT_AUTO_FIELD = 'django.db.models.{keys}'\n",
        "utf-8",
    )
    paths = os.pathsep.join((str(tmp_path), str(ROOT)))
    command = ["-m", "django", "makemigrations", APP, "--check", "--dry-run"]
    answer = subprocess.run(
        [sys.executable, *command, "--settings", "other_site"],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        check=False,
        text=True,
    )

    assert "No changes detected" in answer.stdout, answer.stdout + answer.stderr


def test_every_migration_has_a_telling_name() -> None:
    names = [name for name, _ in migrations()]

    assert names
    assert not [name for name in names if not NAMED.fullmatch(name) or "auto" in name]


def test_every_migration_of_data_can_be_undone() -> None:
    operations = [
        operation
        for _, migration in migrations()
        for operation in getattr(migration, "operations", ())
    ]

    assert not [
        operation
        for operation in operations
        if isinstance(operation, RunPython | RunSQL) and not operation.reversible
    ]


@pytest.mark.slow
@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_all_tables_go_and_come_again() -> None:
    expected = {model._meta.db_table for model in apps.get_app_config(APP).get_models()}
    assert tables() == expected
    try:
        call_command("migrate", APP, "zero", verbosity=0)
        assert tables() == set()
    finally:
        call_command("migrate", APP, verbosity=0)

    assert tables() == expected


def test_nothing_in_the_schema_is_left_out_by_a_database() -> None:
    # MariaDB has no conditional constraints, and only PostgreSQL has some other kinds.
    for model in apps.get_app_config(APP).get_models():
        for one in (*model._meta.constraints, *model._meta.indexes):
            assert getattr(one, "condition", None) is None
            assert type(one).__module__.startswith("django.db.models.")


@pytest.mark.database
def test_what_is_written_often_has_no_index_for_searching_in_texts(db: None) -> None:
    if connection.vendor != "postgresql":
        return  # only Django's PostgreSQL adds one to unique=True and to db_index=True
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tablename FROM pg_indexes WHERE tablename LIKE %s AND indexdef LIKE %s",
            [f"{APP}_%", "%\\_pattern\\_ops%"],
        )
        indexed = {table for (table,) in cursor.fetchall()}
    assert indexed == {"poppy_operations_agent", "poppy_operations_join"}
