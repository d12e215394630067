from __future__ import annotations

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from example_project.databases import SQLITE_OPTIONS, database_from_url

BASE = Path("/srv/shop")


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("sqlite:///var/shop.sqlite3", "/srv/shop/var/shop.sqlite3"),
        ("sqlite:////tmp/a%20b.sqlite3", "/tmp/a b.sqlite3"),
    ],
)
def test_an_sqlite_url_names_a_file(url: str, name: str) -> None:
    database = database_from_url(url, base=BASE)
    assert database["ENGINE"] == "django.db.backends.sqlite3"
    assert database["NAME"] == name
    assert database["OPTIONS"] == SQLITE_OPTIONS


def test_a_postgres_url_gives_each_part_decoded() -> None:
    assert database_from_url("postgres://us%40er:p%2Fw@db:5433/shop", base=BASE) == {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "shop",
        "USER": "us@er",
        "PASSWORD": "p/w",
        "HOST": "db",
        "PORT": "5433",
        "OPTIONS": {},
    }


def test_options_come_as_the_query_and_host_may_be_a_socket() -> None:
    database = database_from_url(
        "postgresql:///shop?host=/run/pg&options=-c%20default_transaction_isolation%3Dserializable",
        base=BASE,
    )
    assert database["HOST"] == "/run/pg"
    assert database["PORT"] == ""
    assert database["OPTIONS"] == {"options": "-c default_transaction_isolation=serializable"}


@pytest.mark.parametrize("scheme", ["mysql", "mariadb"])
def test_a_mysql_url_keeps_every_character(scheme: str) -> None:
    database = database_from_url(f"{scheme}://root@127.0.0.1/shop?unix_socket=/run/m", base=BASE)
    assert database["ENGINE"] == "django.db.backends.mysql"
    assert database["OPTIONS"] == {"unix_socket": "/run/m", "charset": "utf8mb4"}


@pytest.mark.parametrize(
    "url",
    [
        "oracle://db/shop",
        "shop.sqlite3",
        "postgres://db",
        "postgres://db:port/shop",
        "sqlite:///",
        "sqlite://var/shop.sqlite3",
    ],
)
def test_an_url_that_names_no_database_is_refused_by_name(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL"):
        database_from_url(url, base=BASE)
