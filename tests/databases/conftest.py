"""Whole sites, each with databases of its own, and an agent that asks them for a jacket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.agents import SessionOf
from tests.databases.doors import DOORS, Door
from tests.databases.sites import Places, Site, wipe
from tests.shop.models import Item
from tests.shop.orders import api


@pytest.fixture(scope="session")
def places(tmp_path_factory: pytest.TempPathFactory, django_db_blocker: Any) -> Iterator[Places]:
    """The databases of all the sites, dropped in the end."""
    with ExitStack() as stack, django_db_blocker.unblock():
        yield Places(tmp_path_factory.mktemp("sites"), stack)


@pytest.fixture(scope="module")
def running(
    request: pytest.FixtureRequest, places: Places, django_db_blocker: Any
) -> Iterator[Site]:
    """The site that is running; a test says which."""
    with django_db_blocker.unblock(), places.serving(request.param) as site:
        yield site


@pytest.fixture
def db(running: Site) -> None:
    """Empty tables, in the place of those that pytest-django would give."""
    wipe()


@pytest.fixture
def door(
    request: pytest.FixtureRequest,
    signed_in: SessionOf,
    session_of: Callable[..., SessionOf],
    jacket: Item,
) -> Door:
    """A way into the site; a test says which."""
    api.reset()
    kind, path = DOORS[request.param]
    return kind(signed_in, session_of, path)
