"""Tenants that share a process: what one of them has tried is no other's back-off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, transaction

from poppy_operations.models import Agent
from poppy_operations.models.databases import place_of, write_alias
from poppy_operations.sessions.agents import AgentKeys, add_agent, known_agent
from poppy_operations.sessions.key_sets import RELOAD_AT_MOST_EVERY
from poppy_operations.sessions.refusals import KeysUnavailable
from poppy_operations.testing.agents import new_key, public_jwk
from tests.sessions.conftest import KeyServer

pytestmark = [pytest.mark.django_db, pytest.mark.database]

T = 1_800_000_000


@pytest.fixture
def published(key_server: KeyServer, settings: Any) -> Agent:
    """An agent whose keys are published on this machine, and were never loaded."""
    settings.DEBUG = True
    key_server.serve({"keys": [public_jwk(new_key("ES256"), "ES256", kid="k1")]})
    return add_agent(f"{key_server.url}/client", jwks_uri=f"{key_server.url}/jwks")


def look_for_key(client_id: str, *, now: int = T) -> int:
    """Look for a key in a request whose transaction is rolled back, so that its row forgets it."""
    with transaction.atomic():
        try:
            return len(AgentKeys(known_agent(client_id)).matching(alg="ES256", kid="k1", now=now))
        finally:
            transaction.set_rollback(True)


def use_another_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a site does that lets one alias mean the database of the tenant that is asked."""
    monkeypatch.setitem(connection.settings_dict, "NAME", "another_tenants")


def test_a_tenant_that_has_just_tried_waits(published: Agent, key_server: KeyServer) -> None:
    assert look_for_key(published.client_id) == 1
    with pytest.raises(KeysUnavailable):
        look_for_key(published.client_id)
    assert len(key_server.paths) == 1


def test_a_tenant_in_another_database_does_not_wait_for_the_first(
    published: Agent, key_server: KeyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert look_for_key(published.client_id) == 1
    use_another_database(monkeypatch)
    assert look_for_key(published.client_id) == 1
    with pytest.raises(KeysUnavailable):
        look_for_key(published.client_id)
    assert look_for_key(published.client_id, now=T + RELOAD_AT_MOST_EVERY) == 1
    assert len(key_server.paths) == 3


def test_two_agents_with_one_key_set_do_not_wait_for_each_other(
    published: Agent, key_server: KeyServer
) -> None:
    other = add_agent(f"{key_server.url}/another", jwks_uri=published.jwks_uri)

    assert look_for_key(published.client_id) == 1
    assert look_for_key(other.client_id) == 1
    assert len(key_server.paths) == 2


@pytest.fixture
def another_schema() -> Iterator[None]:
    """What the same alias means from now on: a schema, or on MariaDB a database, of its own."""
    if connection.vendor == "postgresql":
        commands = ("CREATE SCHEMA another_tenants", "SET LOCAL search_path TO another_tenants")
        back = ""
    elif connection.vendor == "mysql":
        commands = ("USE information_schema",)
        back = f"USE `{connection.settings_dict['NAME']}`"
    else:
        pytest.skip("A SQLite database has no schemas.")
    with connection.cursor() as cursor:
        for command in commands:
            cursor.execute(command)
        yield
        if back:
            cursor.execute(back)


def test_a_schema_is_told_from_another(request: pytest.FixtureRequest) -> None:
    before = place_of(write_alias())
    assert place_of(write_alias()) == before
    request.getfixturevalue("another_schema")
    assert place_of(write_alias()) != before


def test_a_tenant_in_another_schema_does_not_wait_for_the_first(
    published: Agent, key_server: KeyServer
) -> None:
    """As packages do that switch the schema for each request."""
    if connection.vendor != "postgresql":
        pytest.skip("Only PostgreSQL has schemas inside a database.")
    assert look_for_key(published.client_id) == 1
    table = Agent._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA another_tenants")
        cursor.execute(f"CREATE TABLE another_tenants.{table} AS SELECT * FROM {table}")
        cursor.execute("SET LOCAL search_path TO another_tenants")
    assert look_for_key(published.client_id) == 1
    assert len(key_server.paths) == 2
