"""The databases of the tests are what the tests believe they are."""

from __future__ import annotations

import threading

import pytest
from django.conf import settings
from django.db import connection

from poppy_operations.models import Agent
from tests.connections import need_connections_of_their_own
from tests.databases import has_connections_of_its_own, mariadb, postgres, sqlite_file

FULL = 2
CLIENT_ID = "https://agent.example/client"


@pytest.mark.parametrize("settings_of", [mariadb, postgres, sqlite_file])
def test_every_database_of_the_tests_has_a_name_and_an_engine(settings_of: object) -> None:
    assert callable(settings_of)
    assert {"ENGINE", "NAME"} <= settings_of().keys()


@pytest.mark.database
@pytest.mark.django_db
def test_what_is_written_is_read_again() -> None:
    Agent.objects.create(client_id=CLIENT_ID)

    assert Agent.objects.get().client_id == CLIENT_ID
    assert connection.vendor in settings.DATABASES["default"]["ENGINE"]


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_a_thread_sees_what_another_committed() -> None:
    need_connections_of_their_own()
    Agent.objects.create(client_id=CLIENT_ID)
    seen: list[int] = []

    def read() -> None:
        seen.append(Agent.objects.count())
        connection.close()

    reader = threading.Thread(target=read)
    reader.start()
    reader.join()

    assert seen == [1]


@pytest.mark.database
@pytest.mark.django_db
def test_an_sqlite_file_is_written_by_one_connection_at_a_time() -> None:
    if connection.vendor != "sqlite" or not has_connections_of_its_own():
        pytest.skip("about SQLite files")
    with connection.cursor() as cursor:
        mode = cursor.execute("PRAGMA journal_mode").fetchone()[0]
        synchronous = cursor.execute("PRAGMA synchronous").fetchone()[0]

    assert mode == "wal"
    assert synchronous == FULL
    assert connection.settings_dict["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
