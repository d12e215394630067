"""The fast way to a canonical text ends where the careful one does."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from enum import StrEnum
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from poppy_operations.protocol import content, plain_json
from poppy_operations.protocol.content import canonical_content, stable_content
from poppy_operations.protocol.plain_json import Unreadable

large = st.integers(10**14, 10**20) | st.integers(1, 99).map(lambda digits: digits * 10**16)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | large
    | large.map(lambda number: -number)
    | st.floats()
    | (st.integers() | large).map(float)
    | st.text(st.sampled_from('a$"\\,.0-e\n'), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.sampled_from('a$"\\,.0'), max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


def carefully(value: object) -> str:
    return content._content(value, 0)


@given(values)
@example([10.0, "10.0,", -0.0, 1e16, 10**16, 12300e20, -(10**17), 1.5e300, 1e-7])
@example({"$": '"$', '"$': "\\", '$"': 10**16})
@example(1.0)
@example([[], {}, [[]]])
def test_both_ways_write_the_same_text(value: Any) -> None:
    assert plain_json.plain_json(value) == carefully(value)


@pytest.mark.parametrize(
    ("one", "other"),
    [(1e16, 10**16), (1.5e20, 15 * 10**19), (-1e22, -(10**22)), (Decimal("1E+16"), 1e16)],
)
def test_large_numbers_are_compared_by_value(one: object, other: object) -> None:
    assert canonical_content([one]) == canonical_content([other])
    assert canonical_content([one]) != canonical_content([str(one)])


@pytest.mark.parametrize(
    "text", ["10.0", "a.0,b", "-0", "1e+16", '"', "\\", '\\"', "\\u0022", "\\u005c", "$a", '"$a']
)
def test_what_numbers_look_like_in_a_string_stays_as_it_is(text: str) -> None:
    together = stable_content([1.0, text, 10**17])
    assert together == f"[1,{carefully(text)},1e17]"


class Name(StrEnum):
    FIRST = "first"


@pytest.mark.parametrize(
    "value", [(1,), {1: 2}, {None: 1}, [Decimal(1)], Name.FIRST, {Name.FIRST: 1}]
)
def test_what_no_json_parser_returns_is_left_to_the_careful_way(value: object) -> None:
    assert plain_json.plain_json(value) is None
    assert stable_content(value) == carefully(value)


def test_an_integer_of_more_digits_than_python_writes_is_left_to_it_too() -> None:
    assert plain_json.plain_json([10**5000]) is None
    assert stable_content([10**5000]) == "[1e5000]"


def nested(depth: int, inner: str = "") -> Any:
    return json.loads("[" * depth + inner + "]" * depth)


def test_a_hundred_levels_are_read_and_no_more() -> None:
    for inner in ("", "1", "{}"):
        most = 100 - (inner == "{}")
        assert plain_json.plain_json(nested(most, inner)) == carefully(nested(most, inner))
        with pytest.raises(Unreadable):
            plain_json.plain_json(nested(most + 1, inner))


def test_more_values_than_come_at_once_are_left_to_the_careful_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plain_json, "MOST_VALUES", 3)
    assert plain_json.plain_json([1, 2, 3]) == "[1,2,3]"
    assert plain_json.plain_json([1, 2, 3, 4]) is None
    assert stable_content([1, 2, 3, 4]) == "[1,2,3,4]"


def calls_to_write(value: object) -> int:
    """How many functions of Python are called, or gone on with, to write a value."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        assert plain_json.plain_json(value) is not None
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize(
    "one", [1.0, -0.0, 1.5, 0.05, 1e20, 7, 10**15, True, None, "a", "$1.0", 'q"', [1.0], {"a": 2.0}]
)
def test_no_step_of_python_is_taken_for_each_value(one: object) -> None:
    few, many = [one] * 3, [one, *[one] * 3_000]
    assert calls_to_write(many) == calls_to_write(few)
