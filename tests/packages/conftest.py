"""Which of the tests here a process runs: those of one site, or the one that starts the sites."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest
from django.test import Client

from poppy_operations.testing.agents import TokenIssuer
from tests.agents import HOST
from tests.packages.sites import FOLDER, SITES, running_site
from tests.shop.models import Item

ON_EVERY_SITE = ("test_every_site.py", "test_page.py")
STARTS_SITES = "test_sites.py"


def _left_out(site: str | None) -> list[str]:
    if site is None:
        # Their packages may not be installed, and are not among the plain tests' apps.
        return [*ON_EVERY_SITE, *SITES]
    return [STARTS_SITES, *(other for other in SITES if other != site)]


SITE = running_site()
collect_ignore = _left_out(SITE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of it needs the packages."""
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.packages)


@pytest.fixture(autouse=SITE is not None)
def something_to_buy(request: pytest.FixtureRequest) -> None:
    """On every site there is the jacket."""
    request.getfixturevalue("jacket")


@pytest.fixture
def issuer(issuer: TokenIssuer) -> Any:
    """What issues access tokens: the site's package, if that is what it does."""
    module = f"tests.packages.{SITE}.issuing"
    if SITE is None or find_spec(module) is None:
        return issuer
    return import_module(module).Issuer()


@pytest.fixture
def visitor(jacket: Item) -> Client:
    """An ordinary visitor's browser."""
    return Client(headers={"host": HOST})
