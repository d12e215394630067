"""The check that a commit is on the disk once it is answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import django
import pytest
from django.core.checks import run_checks
from django.core.management import call_command
from django.db import OperationalError, connection
from django.db.utils import ConnectionHandler

from poppy_operations.checks import durability

Answers = dict[str, object]
DURABLE: dict[str, Answers] = {
    "sqlite": {"PRAGMA synchronous": 2, "PRAGMA journal_mode": "wal"},
    "postgresql": {"SHOW fsync": "on", "SHOW synchronous_commit": "on"},
    "mysql": {"SELECT @@innodb_flush_log_at_trx_commit": 1},
}


class Server:
    """A database that is set up as a test says, and was asked what it says it was."""

    def __init__(self, vendor: str, answers: Answers | None) -> None:
        self.vendor = vendor
        self.asked: list[str] = []
        self._answers = answers

    @contextmanager
    def cursor(self) -> Iterator[Server]:
        if self._answers is None:
            raise OperationalError
        yield self

    def execute(self, question: str) -> None:
        self.asked.append(question)

    def fetchone(self) -> tuple[object]:
        assert self._answers is not None
        return (self._answers[self.asked[-1]],)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Server]:
    """Put a server in the place of the database of our tables."""

    def use(vendor: str, answers: Answers | None) -> Server:
        made = Server(vendor, answers)
        monkeypatch.setattr(durability, "connections", {"default": made})
        return made

    return use


def warnings(*databases: str) -> list[str]:
    found = durability.check_durability(databases=databases or ("default",))
    assert {one.id for one in found} <= {"poppy_operations.W008"}
    return [one.msg.partition(": ")[2] for one in found]


@pytest.mark.parametrize("vendor", DURABLE)
def test_a_durable_database_is_not_warned_of(vendor: str, server: Callable[..., Server]) -> None:
    asked = server(vendor, DURABLE[vendor]).asked

    assert warnings() == []
    assert asked == list(DURABLE[vendor])


@pytest.mark.parametrize(
    ("vendor", "answers", "said"),
    [
        ("sqlite", {"PRAGMA synchronous": 1}, "synchronous is NORMAL."),
        ("sqlite", {"PRAGMA synchronous": 0}, "synchronous is OFF."),
        (
            "sqlite",
            {"PRAGMA synchronous": 0, "PRAGMA journal_mode": "delete"},
            "synchronous is OFF.",
        ),
        ("postgresql", {"SHOW synchronous_commit": "off"}, "synchronous_commit is off."),
        ("postgresql", {"SHOW fsync": "off"}, "fsync is off."),
        *(
            (
                "mysql",
                {"SELECT @@innodb_flush_log_at_trx_commit": value},
                f"innodb_flush_log_at_trx_commit is {value}.",
            )
            for value in (0, 2)
        ),
    ],
)
def test_a_database_that_answers_before_it_has_written_is_warned_of(
    vendor: str, answers: Answers, said: str, server: Callable[..., Server]
) -> None:
    server(vendor, {**DURABLE[vendor], **answers})

    assert warnings() == [said]


@pytest.mark.parametrize(
    ("vendor", "answers"),
    [
        ("sqlite", {"PRAGMA synchronous": 3}),
        ("sqlite", {"PRAGMA synchronous": 1, "PRAGMA journal_mode": "delete"}),
        ("sqlite", {"PRAGMA synchronous": 0, "PRAGMA journal_mode": "memory"}),
        ("postgresql", {"SHOW synchronous_commit": "local"}),
        ("postgresql", {"SHOW synchronous_commit": "remote_apply"}),
        ("mysql", {"SELECT @@innodb_flush_log_at_trx_commit": 3}),
    ],
)
def test_what_is_as_durable_is_not_warned_of(
    vendor: str, answers: Answers, server: Callable[..., Server]
) -> None:
    server(vendor, {**DURABLE[vendor], **answers})

    assert warnings() == []


def test_each_weakness_is_named(server: Callable[..., Server]) -> None:
    server("postgresql", {"SHOW fsync": "off", "SHOW synchronous_commit": "off"})

    assert warnings() == ["fsync is off.", "synchronous_commit is off."]


def test_only_the_database_of_our_tables_is_asked_and_only_where_django_was_told_to(
    server: Callable[..., Server],
) -> None:
    weak = server("sqlite", {"PRAGMA synchronous": 0, "PRAGMA journal_mode": "wal"})

    assert warnings("other") == []
    assert durability.check_durability() == []
    assert weak.asked == []


def test_a_database_that_nobody_knows_is_not_asked(server: Callable[..., Server]) -> None:
    unknown = server("oracle", {})

    assert warnings() == []
    assert unknown.asked == []


def test_a_database_that_cannot_be_reached_is_not_judged(server: Callable[..., Server]) -> None:
    server("postgresql", None)

    assert warnings() == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("pragmas", "number"),
    [
        ("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;", 0),
        ("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;", 1),
        ("PRAGMA synchronous=OFF;", 1),
    ],
)
def test_a_real_sqlite_file_is_asked_as_its_connection_sees_it(
    pragmas: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Any] = {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": tmp_path / "site.sqlite3",
        "OPTIONS": {"init_command": pragmas},
    }
    handler = ConnectionHandler({"default": settings})
    monkeypatch.setattr(durability, "connections", handler)

    assert len(warnings()) == number

    handler.close_all()


@pytest.mark.database
@pytest.mark.django_db
def test_the_tests_own_database_is_durable() -> None:
    found = run_checks(tags=["database"], databases=["default"])

    assert "poppy_operations.W008" not in {one.id for one in found}


@pytest.mark.database
@pytest.mark.django_db
def test_a_postgresql_that_answers_sooner_is_warned_of() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("about PostgreSQL")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")

    assert warnings() == ["synchronous_commit is off."]


@pytest.mark.django_db
def test_check_says_it_where_it_is_told_the_database(
    server: Callable[..., Server], capsys: pytest.CaptureFixture[str]
) -> None:
    server("sqlite", {"PRAGMA synchronous": 1, "PRAGMA journal_mode": "wal"})

    call_command("check", tags=["database"])
    without = capsys.readouterr().err
    call_command("check", tags=["database"], databases=["default"])

    # Django 6.1 takes `check` for one of all databases.
    assert "W008" not in without or django.VERSION >= (6, 1)
    assert "answers a commit before it is on the disk: synchronous is NORMAL." in (
        capsys.readouterr().err
    )
