"""What is kept of a request's parts: short, keyed, the owner's, and named for people."""

from __future__ import annotations

import json
from typing import Any

import pytest

from poppy_operations.gate.comparing import RequestContent
from poppy_operations.gate.parts import keyed
from poppy_operations.protocol.owner import Owner

OWNER = Owner("https://agent.example/client", "u1", "alice")
OTHERS = (
    Owner("https://agent.example/client", "u1", "bob"),
    Owner("https://agent.example/client", "u2", "alice"),
    Owner("https://other.example/client", "u1", "alice"),
)
BIG = "n" * 2_400_000


def fields(body: Any, **more: Any) -> dict[str, str]:
    return RequestContent({}, {}, body, **more).sent.field_digests(OWNER)[0]


def differing(body: Any, stored: dict[str, str]) -> tuple[str, ...]:
    return RequestContent({}, {}, body).sent.differing_fields(json.dumps(stored), OWNER)


def test_names_of_any_length_are_kept_short_and_told_apart() -> None:
    stored = fields({BIG: 1, f"{BIG}b": 2})
    assert len(json.dumps(stored)) < 400
    assert len(stored) == 3
    assert differing({BIG: 1, f"{BIG}b": 3}, stored) == (next(iter(sorted(stored)[1:2])),)


def test_very_many_names_are_kept_in_part_and_all_count() -> None:
    body = {f"name {number}": number for number in range(5000)}
    stored = fields(body)
    assert len(stored) <= 202
    assert differing({**body, "name 4999": 0}, stored) == ("(further fields)",)
    assert differing({**body, "name 0": 1}, stored) == ("name 0",)
    assert differing(body, stored) == ()


def test_very_many_fields_of_a_query_and_a_body_are_kept_in_part() -> None:
    query = {f"q{number}": [str(number)] for number in range(300)}
    parts = RequestContent({}, query, {f"f{number}": 1 for number in range(300)}).sent
    assert len(parts.field_digests(OWNER)[0]) <= 202


def test_a_name_that_would_forge_a_line_of_the_log_is_escaped() -> None:
    (name,) = fields({"a\nERROR forged": 1}).keys() - {"target"}
    assert name == r'"a\nERROR forged"'
    (name,) = fields({"\ud800": 1}).keys() - {"target"}
    assert name.isascii()


def test_two_fields_of_one_label_are_both_kept() -> None:
    query, body = {"a": ["1"]}, {"query a": "2", "target": "3"}
    stored = RequestContent({}, query, body).sent.field_digests(OWNER)[0]
    assert stored.keys() == {"query a", "target"}
    for changed in ({"query a": "x", "target": "3"}, {"query a": "2", "target": "x"}):
        now = RequestContent({}, query, changed).sent
        assert len(now.differing_fields(json.dumps(stored), OWNER)) == 1


def test_names_that_are_no_strings_are_compared_as_a_whole() -> None:
    assert fields({1: "a"}) != fields({"1": "a"})
    assert fields({1: "a", "1": "b"}).keys() == {"body", "target"}
    assert differing({1: "a", "1": "c"}, fields({1: "a", "1": "b"})) == ("body",)


def test_what_cannot_be_compared_is_always_named() -> None:
    body = {"deep": json.loads("[" * 200 + "]" * 200), "a": 1}
    assert fields(body)["deep"] == "-"
    assert differing(body, fields(body)) == ("deep",)


def test_no_two_owners_have_a_digest_in_common() -> None:
    kept = [RequestContent({}, {}, {"pin": "0417"}).sent.field_digests(OWNER)[0]["pin"]]
    for other in OTHERS:
        kept.append(RequestContent({}, {}, {"pin": "0417"}).sent.field_digests(other)[0]["pin"])
        assert keyed("0417", other) != keyed("0417", OWNER)
    assert len(set(kept)) == 4


def test_no_two_fields_have_a_digest_in_common() -> None:
    stored = fields({"pin": "0417", "again": "0417"})
    assert stored["pin"] != stored["again"]


def test_a_difference_is_named_though_the_key_was_rotated(settings: Any) -> None:
    stored = fields({"a": 1, "b": 2})
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "new"
    assert differing({"a": 1, "b": 3}, stored) == ("b",)
    settings.SECRET_KEY_FALLBACKS = []
    assert differing({"a": 1, "b": 3}, stored) == ("a", "b", "target")


@pytest.mark.parametrize("body", [BIG, [BIG], {"a": BIG}, b"\xff" * 2_400_000])
def test_what_is_compared_is_short_whatever_was_sent(body: Any) -> None:
    assert len(RequestContent({}, {}, body).sent.text) < 400
