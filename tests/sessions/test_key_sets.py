from __future__ import annotations

from typing import Any

import pytest

from poppy_operations.sessions import key_sets
from poppy_operations.sessions.key_sets import (
    FRESH_FOR,
    RELOAD_AT_MOST_EVERY,
    USABLE_AFTER_FAILURE_FOR,
    KeySetState,
    RemoteKeySet,
)
from poppy_operations.sessions.refusals import KeysUnavailable
from poppy_operations.testing.agents import new_key, public_jwk
from tests.sessions.conftest import KeyServer

T = 1_800_000_000


@pytest.fixture
def remote(key_server: KeyServer, settings: Any) -> RemoteKeySet:
    settings.DEBUG = True
    key_server.serve({"keys": [public_jwk(new_key("ES256"), "ES256", kid="k1")]})
    return RemoteKeySet(key_server.url)


def test_keys_are_loaded_once_and_kept(remote: RemoteKeySet, key_server: KeyServer) -> None:
    for second in range(5):
        assert len(remote.matching(alg="ES256", kid="k1", now=T + second)) == 1
    assert len(key_server.paths) == 1


def test_a_hundred_unknown_keys_are_one_fetch(remote: RemoteKeySet, key_server: KeyServer) -> None:
    remote.matching(alg="ES256", kid="k1", now=T)
    later = T + RELOAD_AT_MOST_EVERY
    for number in range(100):
        assert remote.matching(alg="ES256", kid=f"no{number}", now=later) == ()
    assert len(key_server.paths) == 2


def test_failed_loads_count_as_tries(remote: RemoteKeySet, key_server: KeyServer) -> None:
    key_server.answer = key_server.not_found
    for second in range(RELOAD_AT_MOST_EVERY):
        with pytest.raises(KeysUnavailable) as refused:
            remote.matching(alg="ES256", kid="k1", now=T + second)
    assert refused.value.retry_after == RELOAD_AT_MOST_EVERY
    assert len(key_server.paths) == 1
    with pytest.raises(KeysUnavailable):
        remote.matching(alg="ES256", kid="k1", now=T + RELOAD_AT_MOST_EVERY)
    assert len(key_server.paths) == 2


def test_a_new_key_is_found_by_its_unknown_key_id(
    remote: RemoteKeySet, key_server: KeyServer
) -> None:
    remote.matching(alg="ES256", kid="k1", now=T)
    key_server.serve({"keys": [public_jwk(new_key("ES256"), "ES256", kid="k2")]})
    assert remote.matching(alg="ES256", kid="k2", now=T + RELOAD_AT_MOST_EVERY - 1) == ()
    assert len(remote.matching(alg="ES256", kid="k2", now=T + RELOAD_AT_MOST_EVERY)) == 1


def test_a_removed_key_is_noticed_when_the_set_is_no_longer_fresh(
    remote: RemoteKeySet, key_server: KeyServer
) -> None:
    remote.matching(alg="ES256", kid="k1", now=T)
    key_server.serve({"keys": []})
    assert len(remote.matching(alg="ES256", kid="k1", now=T + FRESH_FOR - 1)) == 1
    assert remote.matching(alg="ES256", kid="k1", now=T + FRESH_FOR) == ()


def test_old_keys_serve_for_an_hour_after_the_first_failed_reload(
    remote: RemoteKeySet, key_server: KeyServer
) -> None:
    remote.matching(alg="ES256", kid="k1", now=T)
    key_server.answer = key_server.not_found
    failed = T + 86_400
    for second in (0, 60, USABLE_AFTER_FAILURE_FOR - 1):
        assert len(remote.matching(alg="ES256", kid="k1", now=failed + second)) == 1
    with pytest.raises(KeysUnavailable):
        remote.matching(alg="ES256", kid="k1", now=failed + USABLE_AFTER_FAILURE_FOR)


def test_keys_serve_again_once_the_reload_succeeds(
    remote: RemoteKeySet, key_server: KeyServer
) -> None:
    good = key_server.answer
    remote.matching(alg="ES256", kid="k1", now=T)
    key_server.answer = key_server.not_found
    remote.matching(alg="ES256", kid="k1", now=T + FRESH_FOR)
    key_server.answer = good
    late = T + FRESH_FOR + USABLE_AFTER_FAILURE_FOR
    assert len(remote.matching(alg="ES256", kid="k1", now=late)) == 1
    assert remote.state.failing_since is None


def test_an_unknown_key_is_no_refusal_while_the_set_cannot_be_loaded(
    remote: RemoteKeySet, key_server: KeyServer
) -> None:
    remote.matching(alg="ES256", kid="k1", now=T)
    key_server.answer = key_server.not_found
    with pytest.raises(KeysUnavailable):
        remote.matching(alg="ES256", kid="k2", now=T + RELOAD_AT_MOST_EVERY)


def test_an_unknown_key_is_no_refusal_while_another_thread_loads(remote: RemoteKeySet) -> None:
    remote.matching(alg="ES256", kid="k1", now=T)
    assert remote.claim(T + RELOAD_AT_MOST_EVERY)
    with pytest.raises(KeysUnavailable):
        remote.matching(alg="ES256", kid="k2", now=T + RELOAD_AT_MOST_EVERY)


def test_only_one_thread_takes_a_try(remote: RemoteKeySet) -> None:
    assert remote.claim(T)
    assert not remote.claim(T)


@pytest.mark.parametrize("body", [b"", b"nonsense", b"[]", b'{"keys": 7}'])
def test_what_is_no_key_set_leaves_the_old_keys(
    remote: RemoteKeySet, key_server: KeyServer, body: bytes
) -> None:
    remote.matching(alg="ES256", kid="k1", now=T)
    key_server.serve(body)
    assert len(remote.matching(alg="ES256", kid="k1", now=T + FRESH_FOR)) == 1


def test_a_failure_is_logged_with_its_reason(
    remote: RemoteKeySet, key_server: KeyServer, caplog: pytest.LogCaptureFixture
) -> None:
    key_server.answer = key_server.not_found
    with pytest.raises(KeysUnavailable):
        remote.matching(alg="ES256", kid="k1", now=T)
    assert "404" in caplog.text
    assert caplog.records[0].name == key_sets.logger.name == "poppy_operations"


def test_a_state_without_any_load_is_neither_fresh_nor_usable_nor_settled() -> None:
    state = KeySetState()
    assert not state.is_fresh(T)
    assert not state.is_usable(T)
    assert not state.is_settled
    assert state.may_be_tried(T)


def test_keys_that_were_given_by_hand_are_settled() -> None:
    assert KeySetState("{}", loaded_at=T).is_settled
