from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import transaction
from pytest_django import DjangoAssertNumQueries

from poppy_operations.models import Agent
from poppy_operations.sessions.agents import (
    AgentKeys,
    Tries,
    UnknownAgent,
    add_agent,
    find_agent,
    known_agent,
    listed_agents,
    refresh_keys,
    revoke_agent,
    tries,
)
from poppy_operations.sessions.clock import epoch, stored
from poppy_operations.sessions.key_sets import RELOAD_AT_MOST_EVERY
from poppy_operations.sessions.refusals import KeysUnavailable
from poppy_operations.testing.agents import PersonalAgent, new_key, public_jwk
from tests.sessions.conftest import KeyServer

pytestmark = pytest.mark.django_db

CLIENT_ID = "https://agent.example/client"
JWKS = PersonalAgent().jwks
T = 1_800_000_000


@pytest.fixture
def published(key_server: KeyServer, settings: Any) -> Agent:
    """An agent whose keys are published on this machine."""
    settings.DEBUG = True
    key_server.serve({"keys": [public_jwk(new_key("ES256"), "ES256", kid="k1")]})
    return add_agent(f"{key_server.url}/client", jwks_uri=f"{key_server.url}/jwks")


# The list


def test_an_added_agent_is_allowed() -> None:
    agent = add_agent(CLIENT_ID, name="Ava", jwks=JWKS)
    assert (agent.status, agent.name) == (Agent.Status.ALLOWED, "Ava")
    assert find_agent(CLIENT_ID) == agent == known_agent(CLIENT_ID)


def test_an_agent_that_was_not_added_is_not_known() -> None:
    assert find_agent(CLIENT_ID) is None
    with pytest.raises(UnknownAgent, match="allow-list"):
        known_agent(CLIENT_ID)
    with pytest.raises(UnknownAgent):
        revoke_agent(CLIENT_ID)


def test_a_revoked_agent_stays_on_the_list_as_revoked() -> None:
    add_agent(CLIENT_ID, jwks=JWKS)
    agent = revoke_agent(CLIENT_ID)
    agent.refresh_from_db()
    assert agent.status == Agent.Status.REVOKED
    assert agent.revoked_at is not None


def test_revoking_again_keeps_the_first_date() -> None:
    add_agent(CLIENT_ID, jwks=JWKS)
    first = revoke_agent(CLIENT_ID).revoked_at
    assert revoke_agent(CLIENT_ID).revoked_at == first


def test_new_keys_do_not_undo_that_an_agent_was_revoked() -> None:
    add_agent(CLIENT_ID, name="Ava", jwks=JWKS)
    revoke_agent(CLIENT_ID)
    with pytest.raises(ValueError, match="was revoked; it has to be allowed again expressly"):
        add_agent(CLIENT_ID, jwks_uri="https://agent.example/jwks")
    agent = known_agent(CLIENT_ID)
    assert (agent.status, agent.name, agent.jwks_uri) == (Agent.Status.REVOKED, "Ava", "")


def test_allowing_a_revoked_agent_again_gives_it_the_new_keys_only() -> None:
    add_agent(CLIENT_ID, name="Ava", jwks=JWKS)
    revoke_agent(CLIENT_ID)
    add_agent(CLIENT_ID, jwks_uri="https://agent.example/jwks", again=True)
    agent = known_agent(CLIENT_ID)
    assert (agent.status, agent.revoked_at) == (Agent.Status.ALLOWED, None)
    assert (agent.name, agent.jwks) == ("", "")
    assert agent.keys_loaded_at is None


def test_the_list_is_in_order_and_complete() -> None:
    for letter in "bac":
        add_agent(f"https://{letter}.example/", jwks=JWKS)
    revoke_agent("https://a.example/")
    assert [agent.client_id[8] for agent in listed_agents()] == ["a", "b", "c"]


def test_finding_an_agent_is_one_query(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_num_queries(1):
        find_agent(CLIENT_ID)


@pytest.mark.parametrize("found", [CLIENT_ID.upper(), CLIENT_ID + " "])
def test_a_database_without_regard_to_case_never_gives_another_agent(
    found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = add_agent(CLIENT_ID, jwks=JWKS)
    Agent.objects.filter(pk=agent.pk).update(client_id=found)
    queryset = type(listed_agents())
    monkeypatch.setattr(queryset, "filter", lambda self, **_: self.all())
    assert find_agent(CLIENT_ID) is None


def test_an_agent_too_like_another_is_not_added_in_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    agent = add_agent(CLIENT_ID, name="first", jwks=JWKS)
    other = CLIENT_ID.replace("client", "CLIENT")
    queryset = type(listed_agents())
    monkeypatch.setattr(queryset, "get_or_create", lambda self, **_: (agent, False))
    with pytest.raises(ValueError, match="too like"):
        add_agent(other, name="second", jwks=JWKS)
    agent.refresh_from_db()
    assert agent.name == "first"


# What is refused


@pytest.mark.parametrize(
    "client_id",
    [
        "",
        "agent",
        "http://agent.example/client",
        "https://",
        "https://user@agent.example/",
        "https://agent.example/#me",
        "https://agent.example/\x00",
        "https://agent.example/ä",
        "https://agent.example/" + "a" * 480,
    ],
)
def test_a_client_id_that_is_no_https_url_is_refused(client_id: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  several sentences
        add_agent(client_id, jwks=JWKS)
    assert not Agent.objects.exists()


def test_a_client_id_may_be_http_in_debug(settings: Any) -> None:
    settings.DEBUG = True
    assert add_agent("http://127.0.0.1:8001/client", jwks=JWKS).pk


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"jwks": JWKS, "jwks_uri": "https://agent.example/jwks"},
        {"jwks": {}},
        {"jwks": {"keys": []}},
        {"jwks": {"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}},
        {"jwks_uri": "https://keys.example/jwks"},
        {"jwks_uri": "https://agent.example.evil.example/jwks"},
        {"jwks_uri": "http://agent.example/jwks"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": "https://agent.example/" + "a" * 480},
    ],
)
def test_keys_that_cannot_serve_are_refused(keys: dict[str, Any]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  several sentences
        add_agent(CLIENT_ID, **keys)
    assert not Agent.objects.exists()


@pytest.mark.parametrize("name", ["a" * 201, "a\x00", "a\n", "\ud800"])
def test_a_name_that_no_database_should_see_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        add_agent(CLIENT_ID, name=name, jwks=JWKS)


def test_a_url_just_within_the_pattern_but_too_long_for_the_column_is_refused() -> None:
    url = "https://agent.example/" + "a" * (501 - len("https://agent.example/"))
    with pytest.raises(ValueError):  # noqa: PT011  whichever limit is met first
        add_agent(url, jwks=JWKS)


def test_private_members_are_never_stored() -> None:
    private = PersonalAgent()
    jwk = {**private.jwks["keys"][0], "d": "c2VjcmV0"}
    with pytest.raises(ValueError, match="no key"):
        add_agent(CLIENT_ID, jwks={"keys": [jwk]})
    agent = add_agent(CLIENT_ID, jwks={"keys": [jwk, *private.jwks["keys"]]})
    assert len(json.loads(agent.jwks)["keys"]) == 1
    assert "c2VjcmV0" not in agent.jwks


# Loading keys


def test_keys_are_loaded_when_they_are_first_needed(
    published: Agent, key_server: KeyServer
) -> None:
    assert len(AgentKeys(published).matching(alg="ES256", kid="k1", now=T)) == 1
    published.refresh_from_db()
    assert len(AgentKeys(published).matching(alg="ES256", kid="k1", now=T + 1)) == 1
    assert key_server.paths == ["/jwks"]
    assert published.keys_loaded_at == published.keys_tried_at == datetime.fromtimestamp(T, UTC)


def test_a_hundred_unknown_keys_are_one_fetch_across_requests(
    published: Agent, key_server: KeyServer
) -> None:
    refresh_keys(published, now=datetime.fromtimestamp(T, UTC))
    for number in range(100):
        agent = known_agent(published.client_id)
        keys = AgentKeys(agent).matching(alg="ES256", kid=f"no{number}", now=T + 60)
        assert keys == ()
    assert len(key_server.paths) == 2


def test_another_process_that_has_just_tried_is_enough(
    published: Agent, key_server: KeyServer
) -> None:
    refresh_keys(published, now=datetime.fromtimestamp(T, UTC))
    stale = known_agent(published.client_id)
    key_server.serve({"keys": [public_jwk(new_key("ES256"), "ES256", kid="k2")]})
    AgentKeys(known_agent(published.client_id)).matching(alg="ES256", kid="k2", now=T + 60)
    tries.clear()  # as another process would have it
    assert len(AgentKeys(stale).matching(alg="ES256", kid="k2", now=T + 60)) == 1
    assert len(key_server.paths) == 2


def test_a_try_is_remembered_although_its_transaction_is_rolled_back(
    published: Agent, key_server: KeyServer
) -> None:
    refresh_keys(published, now=datetime.fromtimestamp(T, UTC))
    for number in range(5):
        with transaction.atomic():
            agent = known_agent(published.client_id)
            assert AgentKeys(agent).matching(alg="ES256", kid=f"no{number}", now=T + 60) == ()
            transaction.set_rollback(True)
    assert len(key_server.paths) == 2


def test_a_failed_load_leaves_the_keys_and_says_since_when(
    published: Agent, key_server: KeyServer
) -> None:
    refresh_keys(published, now=datetime.fromtimestamp(T, UTC))
    before = published.jwks
    key_server.answer = key_server.not_found
    for later in (3600, 7000):
        keys = AgentKeys(known_agent(published.client_id))
        assert len(keys.matching(alg="ES256", kid="k1", now=T + later)) == 1
    agent = known_agent(published.client_id)
    assert agent.jwks == before
    assert agent.keys_failing_since == datetime.fromtimestamp(T + 3600, UTC)
    with pytest.raises(KeysUnavailable):
        AgentKeys(agent).keep_fresh(T + 7200)


def test_an_operator_need_not_wait(published: Agent, key_server: KeyServer) -> None:
    for _ in range(3):
        refresh_keys(published, now=datetime.fromtimestamp(T, UTC))
    assert len(key_server.paths) == 3


def test_an_operator_is_told_of_a_failure(published: Agent, key_server: KeyServer) -> None:
    key_server.answer = key_server.not_found
    with pytest.raises(KeysUnavailable, match="cannot be loaded"):
        refresh_keys(published)


def test_keys_given_by_hand_are_never_loaded() -> None:
    agent = add_agent(CLIENT_ID, jwks=JWKS)
    keys = AgentKeys(agent)
    keys.keep_fresh(T + 10**8)
    assert len(keys.matching(alg="ES256", kid="key-1", now=T + 10**8)) == 1
    assert keys.matching(alg="ES256", kid="other", now=T) == ()
    with pytest.raises(ValueError, match="no JWKS URI"):
        refresh_keys(agent)


def test_a_load_that_an_operator_overtook_changes_nothing(
    published: Agent, key_server: KeyServer
) -> None:
    keys = AgentKeys(published)
    assert keys.claim(T)
    add_agent(published.client_id, jwks=JWKS)
    keys.reload(T)
    agent = known_agent(published.client_id)
    assert json.loads(agent.jwks)["keys"][0]["kid"] == "key-1"
    assert published.jwks == agent.jwks
    assert published.jwks_uri == ""


def test_a_key_set_on_another_host_is_not_fetched_though_the_row_says_so(
    published: Agent, key_server: KeyServer
) -> None:
    uri = published.jwks_uri.replace("127.0.0.1", "localhost")
    Agent.objects.filter(pk=published.pk).update(jwks_uri=uri)
    with pytest.raises(KeysUnavailable):
        refresh_keys(known_agent(published.client_id))
    assert key_server.paths == []


def test_without_time_zones_the_same_holds(
    published: Agent, key_server: KeyServer, settings: Any
) -> None:
    settings.USE_TZ = False
    refresh_keys(published)
    agent = known_agent(published.client_id)
    assert agent.keys_loaded_at is not None
    assert agent.keys_loaded_at.tzinfo is UTC
    now = epoch(agent.keys_loaded_at)
    assert abs(now - epoch(datetime.now(UTC))) < 60
    assert len(AgentKeys(agent).matching(alg="ES256", kid="k1", now=now)) == 1
    assert stored(now) == agent.keys_loaded_at
    assert len(key_server.paths) == 1


# Tries


def test_a_try_is_free_again_after_half_a_minute() -> None:
    memory = Tries()
    assert memory.take("a", T)
    assert not memory.take("a", T + RELOAD_AT_MOST_EVERY - 1)
    assert memory.take("b", T)
    assert memory.take("a", T + RELOAD_AT_MOST_EVERY)


def test_tries_are_a_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tries, "MOST", 2)
    memory = Tries()
    for key in "abc":
        assert memory.take(key, T)
    assert memory.take("a", T)
    assert not memory.take("c", T)
    memory.clear()
    assert memory.take("c", T)


def test_a_clock_that_was_set_back_does_not_block_tries() -> None:
    memory = Tries()
    assert memory.take("a", T)
    assert memory.take("a", T - 86_400)


# Databases


@pytest.mark.database
def test_client_ids_that_differ_only_in_case_are_never_one_agent() -> None:
    add_agent(CLIENT_ID, name="first", jwks=JWKS)
    other = CLIENT_ID.replace("client", "CLIENT")
    assert find_agent(other) is None
    with suppress(ValueError):  # where the database would take them for one
        add_agent(other, name="second", jwks=JWKS)
    assert known_agent(CLIENT_ID).name == "first"


@pytest.mark.database
def test_claiming_and_storing_a_load_work_on_this_database(
    published: Agent, key_server: KeyServer
) -> None:
    keys = AgentKeys(published)
    assert len(keys.matching(alg="ES256", kid="k1", now=T)) == 1
    assert keys.matching(alg="ES256", kid="k2", now=T + RELOAD_AT_MOST_EVERY - 1) == ()
    assert keys.matching(alg="ES256", kid="k2", now=T + RELOAD_AT_MOST_EVERY) == ()
    assert len(key_server.paths) == 2
    assert known_agent(published.client_id).keys_loaded_at == stored(T + RELOAD_AT_MOST_EVERY)
