"""The running shops."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from example_project.tour.server import Server
from tests.servers.databases import VENDORS, fresh_database
from tests.servers.shop import SERVERS, Shop


@pytest.fixture(
    scope="package",
    params=[
        pytest.param((vendor, server), id=f"{vendor}-{server}")
        for vendor in VENDORS
        for server in SERVERS
    ],
)
def shop(request: pytest.FixtureRequest) -> Iterator[Shop]:
    """The shop on each database, served by each server."""
    vendor, server = request.param
    with fresh_database(vendor) as url:
        environment = {} if url is None else {"DATABASE_URL": url}
        with Server(SERVERS[server], **environment) as running:
            yield Shop(running)
