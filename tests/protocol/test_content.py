from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from io import BytesIO
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from poppy_operations.protocol.canonical import canonical_content
from poppy_operations.protocol.content import FileContent

numbers = st.integers() | st.floats() | st.decimals()
scalars = (
    st.none()
    | st.booleans()
    | numbers
    | st.text(st.characters(), max_size=6)
    | st.dates()
    | st.datetimes()
    | st.datetimes(timezones=st.timezones())
    | st.times()
    | st.timedeltas()
    | st.uuids()
    | st.binary(max_size=4)
)
contents = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(), max_size=4) | st.integers(), inner, max_size=3)
        | st.tuples(inner)
    ),
    max_leaves=10,
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


class Colour(StrEnum):
    RED = "red"


class Count(IntEnum):
    TWO = 2


class Mood(Enum):
    GOOD = "good"


class Other(Enum):
    GOOD = "good"


@given(contents)
def test_all_content_has_an_ascii_text_that_is_json(value: object) -> None:
    text = canonical_content(value)
    assert text.isascii()
    json.loads(text)
    assert "$unreadable" not in text


@given(json_values)
def test_content_that_came_as_json_again_is_the_same(value: object) -> None:
    assert canonical_content(json.loads(json.dumps(value, indent=2))) == canonical_content(value)


@pytest.mark.slow
@given(json_values, json_values)
@example(1, True)
@example(0, False)
@example([], {})
@example({"a": 1}, {"a": "1"})
@example({"$a": 1}, {"$$a": 1})
@example({"$number": "nan"}, [])
def test_content_is_the_same_exactly_when_its_values_are(one: object, other: object) -> None:
    assert (canonical_content(one) == canonical_content(other)) is (tagged(one) == tagged(other))


def tagged(value: object) -> object:
    """The value with booleans told from numbers, and floats as the decimals that JSON writes."""
    if isinstance(value, dict):
        return {key: tagged(member) for key, member in value.items()}
    if isinstance(value, list):
        return [tagged(member) for member in value]
    if isinstance(value, float):
        return ("number", Decimal(repr(value)) if abs(value) < float("inf") else value)
    if isinstance(value, int) and not isinstance(value, bool):
        return ("number", Decimal(value))
    return (type(value), value)


@pytest.mark.parametrize(
    "same",
    [
        (1, 1.0, Decimal("1.00"), Decimal("1E0"), Count.TWO - 1),
        (0, -0.0, 0.0, Decimal("-0.00"), Decimal("0E+7")),
        (100, 1e2, Decimal("1E+2"), Decimal("100.0")),
        (0.1, Decimal("0.1"), Decimal("0.10")),
        (-1200, -1200.0, Decimal("-1.2E3")),
        (10**5000, Decimal("1E5000")),
        (-(10**5000) - 1, Decimal(-(10**5000) - 1)),
        (float("nan"), Decimal("NaN"), Decimal("sNaN")),
        (float("inf"), Decimal("Infinity")),
        ("red", Colour.RED),
        ([1, 2], (1, 2), {1, 2}, frozenset({2, 1})),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (b"x", bytearray(b"x"), memoryview(b"x")),
        (
            datetime(2026, 10, 8, 12, tzinfo=timezone(timedelta(hours=2))),
            datetime(2026, 10, 8, 10, tzinfo=UTC),
        ),
    ],
)
def test_what_means_the_same_has_one_text(same: tuple[object, ...]) -> None:
    assert len({canonical_content(value) for value in same}) == 1


def test_what_means_something_else_has_another_text() -> None:
    different: list[object] = [
        1,
        True,
        "1",
        [1],
        {"1": 1},
        {1: 1},
        {"$1": 1},
        {(1,): 1},
        None,
        "null",
        "",
        0,
        False,
        [],
        {},
        0.1,
        0.1 + 2**-55,
        10,
        100,
        -1,
        float("nan"),
        float("inf"),
        float("-inf"),
        "nan",
        {"$number": "nan"},
        date(2026, 1, 1),
        "2026-01-01",
        {"$date": "2026-01-01"},
        datetime(2026, 1, 1),  # noqa: DTZ001
        datetime(2026, 1, 1, tzinfo=UTC),
        time(1),
        timedelta(hours=1),
        UUID(int=1),
        str(UUID(int=1)),
        b"1",
        Mood.GOOD,
        Other.GOOD,
        "good",
        "\ud800",
        "\ud801",
        ["a", "b"],
        ["b", "a"],
        [["a"], "b"],
    ]
    texts = [canonical_content(value) for value in different]
    assert len(set(texts)) == len(different)


class Fields(dict[str, list[str]]):
    """Like a form's fields: a member is its last value, and ``lists`` has them all."""

    def __getitem__(self, key: str) -> str:  # type: ignore[override]  # as Django's MultiValueDict
        return super().__getitem__(key)[-1]

    def items(self) -> list[tuple[str, str]]:  # type: ignore[override]
        return [(key, self[key]) for key in self]

    def lists(self) -> list[tuple[str, list[str]]]:
        return list(super().items())


def test_all_values_of_a_forms_field_count() -> None:
    assert canonical_content(Fields(a=["1", "2"])) == '{"a":["1","2"]}'


@dataclass(frozen=True)
class Row:
    """Like a row of a database whose text is a name that others have too."""

    pk: object

    def __str__(self) -> str:
        return "Jacket"


class Rows:
    """Like a query set: its text shows the beginning only."""

    def __init__(self, *keys: int) -> None:
        self.keys = keys

    def __iter__(self) -> Iterator[Row]:
        return (Row(key) for key in self.keys)

    def __str__(self) -> str:
        return "<Rows: Jacket, ...(remaining elements truncated)...>"


class Members:
    """Some values, in a container that only their program knows."""

    def __init__(self, *values: object) -> None:
        self.values = values

    def __iter__(self) -> Iterator[object]:
        return iter(self.values)


@dataclass(frozen=True)
class Money:
    amount: str


class Stream:
    """Like an upload or a response: what is in it can be read once, and its text says nothing."""

    def read(self) -> bytes:
        raise AssertionError("It is not ours to read.")

    def __str__(self) -> str:
        return "<Stream>"


class Bare:
    """Like a value object that says nothing of itself: its text is its address."""


@dataclass(frozen=True)
class Around:
    """Like one that shows such an object within it."""

    inner: object


class Broken:
    def __str__(self) -> str:
        raise LookupError


def test_rows_are_told_apart_by_their_keys() -> None:
    assert canonical_content(Row(1)) == canonical_content(Row(1))
    assert canonical_content(Row(1)) != canonical_content(Row(2))
    assert canonical_content(Rows(1, 2)) == canonical_content(Rows(1, 2))
    assert canonical_content(Rows(1, 2)) != canonical_content(Rows(1, 3))


def test_other_objects_are_their_type_and_their_text() -> None:
    assert canonical_content(Money("1")) == canonical_content(Money("1"))
    assert canonical_content(Money("1")) != canonical_content(Money("2"))
    assert canonical_content(Money("1")) != canonical_content(str(Money("1")))


def deep(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = (value,)
    return value


def inside_itself() -> dict[str, object]:
    endless: dict[str, object] = {}
    endless["a"] = [endless, endless]
    return endless


@pytest.mark.parametrize(
    "value",
    [
        Broken(),
        {"a": Broken()},
        Bare(),
        [Around(Bare())],
        deep,
        Row(None),
        BytesIO(b"open file"),
        Stream(),
        iter([1]),
        deep(101),
        pytest.param(inside_itself(), marks=pytest.mark.slow),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
    ],
)
def test_what_cannot_be_read_equals_nothing(
    value: object, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="poppy_operations"):
        assert canonical_content(value) != canonical_content(value)
    assert json.loads(canonical_content(value)).keys() == {"$unreadable"}
    assert caplog.messages[0].startswith("Content cannot be compared: ")


def test_content_a_hundred_deep_is_still_compared() -> None:
    assert canonical_content(deep(100)) == canonical_content(deep(100))


def as_enum(value: object) -> Enum:
    class Only(Enum):
        MEMBER = value

    return Only.MEMBER


@pytest.mark.parametrize(
    "hold",
    [
        lambda value: [value],
        lambda value: (value,),
        lambda value: {"a": value},
        lambda value: Fields(a=value),
        lambda value: {value},
        lambda value: frozenset({value}),
        lambda value: Row(value),
        lambda value: Members(value),
        as_enum,
    ],
    ids=["list", "tuple", "object", "form", "set", "frozenset", "row", "iterable", "enum"],
)
def test_whatever_holds_content_is_one_level_of_the_hundred(
    hold: Callable[[object], object],
) -> None:
    assert "$unreadable" not in canonical_content(hold(deep(99)))
    assert "$unreadable" in canonical_content(hold(deep(100)))


def test_a_key_can_be_a_hundred_deep_by_itself() -> None:
    assert "$unreadable" not in canonical_content([{deep(100): 1}])
    assert "$unreadable" in canonical_content([{deep(101): 1}])


HERE = "tests.protocol.test_content"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-0.0, "0"),
        (7, "7"),
        (-7, "-7"),
        (1200, "1200"),
        (-1200, "-1200"),
        (10**16, "1e16"),
        (1.5, "1.5"),
        (-10.25, "-10.25"),
        (Decimal("70.00"), "70"),
        (Decimal("0.001"), "0.001"),
        pytest.param(-(10**5000), "-1e5000", id="five thousand digits"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        ("jacket", '"jacket"'),
        ('é"\n\ud800', '"\\u00e9\\"\\n\\ud800"'),
        ([], "[]"),
        ([2, "1"], '[2,"1"]'),
        ((2, 1), "[2,1]"),
        ({2, 1}, "[1,2]"),
        ({}, "{}"),
        ({"b": 1, "a": [None]}, '{"a":[null],"b":1}'),
        ({"$a": 1}, '{"$$a":1}'),
        ("$a", '"$$a"'),
        (1.5e-7, "1.5e-07"),
        (1.25e300, "125e298"),
        (FileContent("a.txt", "text/plain", 1, "d"), '{"$file":["a.txt","text/plain",1,"d"]}'),
        ({1: 2, None: 3, (4, 5): 6}, '{"$1":2,"$[4,5]":6,"$null":3}'),
        (date(2026, 10, 8), '{"$date":"2026-10-08"}'),
        (datetime(2026, 10, 8, 12), '{"$datetime":"2026-10-08T12:00:00"}'),  # noqa: DTZ001 - naive
        (
            datetime(2026, 10, 8, 12, tzinfo=timezone(timedelta(hours=2))),
            '{"$datetime":"2026-10-08 10:00:00Z"}',
        ),
        (time(12, 30), '{"$time":"12:30:00"}'),
        (timedelta(days=1, hours=2), '{"$timedelta":"1 day, 2:00:00"}'),
        (UUID(int=1), '{"$uuid":"00000000-0000-0000-0000-000000000001"}'),
        (b"\x00\xff", '{"$bytes":"00ff"}'),
        (bytearray(b"\xff"), '{"$bytes":"ff"}'),
        (memoryview(b"\xff"), '{"$bytes":"ff"}'),
        (Colour.RED, '"red"'),
        (Count.TWO, "2"),
        (Mood.GOOD, f'{{"$enum":["{HERE}.Mood","good"]}}'),
        (Row(7), f'{{"$row":["{HERE}.Row",7]}}'),
        (Members(1, "a"), f'{{"$object":["{HERE}.Members",[1,"a"]]}}'),
        (Money("1"), f'{{"$object":["{HERE}.Money","Money(amount=\'1\')"]}}'),
    ],
)
def test_the_text_that_databases_keep_the_digest_of_stays_what_it_is(
    value: object, text: str
) -> None:
    assert canonical_content(value) == text


def test_reading_an_iterator_or_a_file_is_left_to_others() -> None:
    file = BytesIO(b"x")
    canonical_content(file)
    assert file.read() == b"x"


def test_the_log_does_not_repeat_the_content(caplog: pytest.LogCaptureFixture) -> None:
    class Secret:
        def __str__(self) -> str:
            raise ValueError("4711")

    canonical_content(Secret())
    assert "4711" not in caplog.text
