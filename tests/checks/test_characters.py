"""The check that MariaDB can hold every character."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError, connection

from poppy_operations.checks import characters
from poppy_operations.models import Agent


class Server:
    """A MariaDB that answers as a test says."""

    vendor = "mysql"

    def __init__(self, *rows: Any) -> None:
        self.rows = list(rows)

    def cursor(self) -> Server:
        """Be asked."""
        if not self.rows:
            raise OperationalError
        return self

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *raised: object) -> None:
        pass

    def execute(self, question: str, values: Any = None) -> None:
        """Hear a question."""

    def fetchone(self) -> Any:
        """Answer."""
        return self.rows.pop(0)


def told(server: Any, monkeypatch: pytest.MonkeyPatch, *databases: str) -> list[str]:
    """What is warned of."""
    monkeypatch.setattr(characters, "connections", {"default": server})
    return [one.msg for one in characters.check_characters(databases=databases)]


def test_a_connection_and_a_column_that_lack_characters_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    column = ("poppy_operations_revision", "terms", "utf8mb3")
    found = told(Server(("latin1",), column), monkeypatch, "default")
    assert len(found) == 2
    assert "the connection uses latin1" in found[0]
    assert "poppy_operations_revision.terms uses utf8mb3" in found[1]


def test_what_holds_every_character_is_not_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(Server(("utf8mb4",), None), monkeypatch, "default") == []


def test_it_is_asked_only_where_django_was_told_to_and_can(monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = Server(("latin1",), None)
    assert told(lacking, monkeypatch) == []
    assert told(lacking, monkeypatch, "other") == []
    assert told(Server(), monkeypatch, "default") == []
    lacking.vendor = "postgresql"
    assert told(lacking, monkeypatch, "default") == []


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_a_real_column_that_lacks_characters_is_found() -> None:
    assert characters.check_characters(databases=["default"]) == []
    if connection.vendor != "mysql":
        pytest.skip("the others hold every character")
    change = f"ALTER TABLE {Agent._meta.db_table} MODIFY name varchar(200) CHARACTER SET "
    with connection.cursor() as cursor:
        cursor.execute(f"{change}utf8mb3")
    try:
        (found,) = characters.check_characters(databases=["default"])
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"{change}utf8mb4")
    assert f"{Agent._meta.db_table}.name uses utf8mb3" in found.msg
