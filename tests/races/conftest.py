"""The site of the rounds, on a database that other threads and processes reach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import time_machine
from django.conf import settings
from django.core.management import call_command
from django.test import override_settings

from poppy_operations.sessions.agents import add_agent
from tests.agents import AGENT
from tests.connections import need_connections_of_their_own
from tests.crash.site import stores
from tests.races.asking import NOW


@pytest.fixture(scope="module")
def db(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Tables that everybody sees, emptied after the module.

    Each round has an owner of its own, so that they can share the tables.
    """
    with django_db_blocker.unblock():
        need_connections_of_their_own()
        stores.folder = tmp_path_factory.mktemp("races")
        poppy = {
            **settings.POPPY_OPERATIONS,
            "QUEUE": "tests.crash.site.enqueue",
            "COMPANY": "tests.races.asking.RacesCompany",
        }
        with override_settings(ROOT_URLCONF="tests.crash.site", POPPY_OPERATIONS=poppy):
            add_agent(AGENT.client_id, jwks=AGENT.jwks)
            try:
                yield
            finally:
                call_command("flush", interactive=False, verbosity=0)


@pytest.fixture(autouse=True)
def clock() -> Iterator[None]:
    """The moment at which everybody asks; only what a test says is later is later."""
    with time_machine.travel(NOW, tick=False):
        yield
