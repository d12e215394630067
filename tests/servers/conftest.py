"""The running shops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from example_project.databases import database_from_url
from example_project.tour.commands import PROJECT
from example_project.tour.server import Server
from tests.servers.databases import VENDORS, fresh_database
from tests.servers.shop import SERVERS, Shop

SETTINGS = "tests.servers.settings"


@pytest.fixture(
    scope="package",
    params=[
        pytest.param((vendor, server), id=f"{vendor}-{server}")
        for vendor in VENDORS
        for server in SERVERS
    ],
)
def shop(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    django_db_blocker: Any,
) -> Iterator[Shop]:
    """The shop on each database, served by each server."""
    vendor, server = request.param
    with (
        fresh_database(vendor, tmp_path_factory.mktemp("shop")) as url,
        Server(SERVERS[server], DATABASE_URL=url, DJANGO_SETTINGS_MODULE=SETTINGS) as running,
        django_db_blocker.unblock(),
    ):
        shop = Shop(running, database_from_url(url, base=PROJECT), is_asgi=server == "uvicorn")
        yield shop
        shop.close()
