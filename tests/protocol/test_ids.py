from __future__ import annotations

import re

import pytest

from poppy_operations.protocol.ids import (
    is_id,
    is_ref,
    new_attempt,
    new_operation_id,
    new_ref,
    new_revision,
    new_watch,
)

PARTS: dict[str, object] = {
    "owner": "owner",
    "operation_id": "op_1",
    "terms_digest": "t",
    "content_digest": "c",
    "expires_at": 1791487200,
}


def revision(**changed: object) -> str:
    return new_revision(**{**PARTS, **changed})  # type: ignore[arg-type]


@pytest.mark.ambiguity("AMB-26")
@pytest.mark.parametrize("value", ["a", "exc_5Rt2", "A-Z_09", "x" * 256])
def test_amb_26_ids_have_1_to_256_characters_of_the_alphabet(value: str) -> None:
    assert is_id(value)
    assert is_ref(value)


@pytest.mark.ambiguity("AMB-26")
@pytest.mark.parametrize(
    "value", ["", "x" * 257, "a.b", "a b", "a\n", "é", "a\0", "\u0661", "a/b", None, 1, b"a", ["a"]]
)
def test_amb_26_nothing_else_is_an_id(value: object) -> None:
    assert not is_id(value)


@pytest.mark.parametrize("value", ["a.b", "exc_5Rt2.1791487200.k3Jd9Qx2mW8v", ".", "x" * 2048])
def test_references_may_have_full_stops_and_2048_characters(value: str) -> None:
    assert is_ref(value)


@pytest.mark.parametrize("value", ["", "x" * 2049, "a/b", "a b", "a\n", "é", None, 1, b"a"])
def test_nothing_else_is_a_reference(value: object) -> None:
    assert not is_ref(value)


@pytest.mark.requirement("OPS-3-03")
def test_operation_ids_are_ids_and_never_repeat() -> None:
    made = {new_operation_id() for _ in range(1000)}
    assert len(made) == 1000
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,256}", operation_id) for operation_id in made)


@pytest.mark.ambiguity("AMB-26")
def test_amb_26_what_we_make_has_at_most_64_characters_in_lower_case() -> None:
    longest = new_operation_id("a" * 16)
    made = [longest, revision(), new_ref(), new_watch(), new_attempt()]
    assert all(is_id(value) and len(value) <= 64 and value == value.lower() for value in made)


def test_an_operation_id_is_its_prefix_and_128_bits() -> None:
    assert re.fullmatch(r"op_[a-z2-7]{26}", new_operation_id())
    assert re.fullmatch(r"exc_[a-z2-7]{26}", new_operation_id("exc"))


@pytest.mark.parametrize("prefix", ["", "Exc", "a_b", "a" * 17, "é", "a\n"])
def test_other_prefixes_are_refused(prefix: str) -> None:
    with pytest.raises(ValueError, match="prefix of operation IDs"):
        new_operation_id(prefix)


@pytest.mark.requirement("OPS-4-26", "OPS-4-27")
def test_references_have_the_characters_of_references_and_never_repeat() -> None:
    made = {new_ref() for _ in range(1000)}
    assert len(made) == 1000
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]{1,2048}", ref) for ref in made)


def test_references_attempts_and_watch_keys_have_enough_random_bits() -> None:
    assert re.fullmatch(r"[a-z2-7]{32}", new_ref())
    assert re.fullmatch(r"[a-z2-7]{32}", new_watch())
    assert re.fullmatch(r"[0-9a-f]{32}", new_attempt())
    assert len({new_watch() for _ in range(100)} | {new_attempt() for _ in range(100)}) == 200


@pytest.mark.requirement("OPS-3-07")
def test_revisions_are_ids_that_begin_with_their_expiry() -> None:
    assert re.fullmatch(r"1791487200-[a-z2-7]{32}", revision())
    assert all(is_id(revision()) for _ in range(1000))


def test_another_expiry_is_another_revision() -> None:
    assert revision(expires_at=1).split("-")[0] != revision(expires_at=2).split("-")[0]


@pytest.mark.ambiguity("AMB-17")
def test_amb_17_no_revision_comes_twice_even_for_the_same_terms() -> None:
    assert len({revision() for _ in range(100)}) == 100


@pytest.mark.ambiguity("AMB-17")
@pytest.mark.parametrize("part", ["owner", "operation_id", "terms_digest", "content_digest"])
def test_amb_17_a_revision_depends_on_all_it_stands_for(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda octets: "00" * octets)
    assert revision() == revision()
    assert revision() != revision(**{part: "other"})
    moved = revision(owner="own", operation_id="erop_1")
    assert revision() != moved
