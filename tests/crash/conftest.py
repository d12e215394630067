"""The site of the crash matrix, on a database that other processes reach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import time_machine
from django.conf import settings
from django.core.management import call_command
from django.test import override_settings
from django.utils import timezone

from poppy_operations.sessions.agents import add_agent
from tests.agents import AGENT
from tests.connections import need_connections_of_their_own
from tests.crash.site import stores


@pytest.fixture(scope="module")
def db(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Tables that other processes see, emptied after the module.

    Each cell has a Session of its own, so that they can share the tables.
    """
    with django_db_blocker.unblock():
        need_connections_of_their_own()
        stores.folder = tmp_path_factory.mktemp("crash")
        poppy = {**settings.POPPY_OPERATIONS, "QUEUE": "tests.crash.site.enqueue"}
        with override_settings(ROOT_URLCONF="tests.crash.site", POPPY_OPERATIONS=poppy):
            add_agent(AGENT.client_id, jwks=AGENT.jwks)
            try:
                yield
            finally:
                call_command("flush", interactive=False, verbosity=0)


@pytest.fixture
def clock(db: None) -> Iterator[time_machine.Traveller]:
    """A clock that goes on by itself, and jumps."""
    with time_machine.travel(timezone.now(), tick=True) as coordinates:
        yield coordinates
