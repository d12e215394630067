from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from poppy_operations.protocol.canonical import (
    LARGEST_INTEGER,
    FrozenArray,
    FrozenObject,
    UnrepresentableTerms,
    canonical_terms,
    digest,
    freeze,
    keyed_digest,
    thaw,
)

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-LARGEST_INTEGER, LARGEST_INTEGER)
    | texts
    | st.sampled_from([1, 0, "1", "true", True, False, None, "null", "", "é", "e\u0301"])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
terms = st.dictionaries(texts, values, max_size=4)


def distinctly(value: object) -> object:
    """A value in which what Python holds to be equal, but JSON does not, differs."""
    if isinstance(value, Mapping):
        return {key: distinctly(member) for key, member in value.items()}
    if isinstance(value, list):
        return [distinctly(member) for member in value]
    return (type(value), value)


def reordered(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: reordered(value[key]) for key in reversed(list(value))}
    if isinstance(value, list):
        return tuple(reordered(member) for member in value)
    return value


class Size(StrEnum):
    MEDIUM = "m"


class Quantity(IntEnum):
    PAIR = 2


class Name(str):
    """Text that is another key than its equal."""

    __slots__ = ()

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


class Plain(Enum):
    ONE = 1


def test_the_text_is_json_with_sorted_keys_no_spaces_and_its_own_characters() -> None:
    values = {"b": [1, True, None, {"z": 0, "a": -1}], "ä": "Größe M", "a": ""}
    assert canonical_terms(values) == ('{"a":"","b":[1,true,null,{"a":-1,"z":0}],"ä":"Größe M"}')


@pytest.mark.slow
@pytest.mark.requirement("OPS-3-16")
@given(terms)
def test_any_keys_and_values_arrive_unchanged(values: dict[str, object]) -> None:
    assert distinctly(json.loads(canonical_terms(values))) == distinctly(values)


@pytest.mark.slow
@given(terms)
def test_equal_terms_have_equal_digests_whatever_their_order(values: dict[str, object]) -> None:
    other = reordered(values)
    assert isinstance(other, dict)
    assert digest(canonical_terms(values)) == digest(canonical_terms(other))


@pytest.mark.slow
@given(terms, terms)
@example({"a": 1}, {"a": True})
@example({"a": 1}, {"a": "1"})
@example({"a": None}, {})
@example({"a": []}, {"a": {}})
@example({"a": "é"}, {"a": "e\u0301"})
def test_different_terms_have_different_digests(
    one: dict[str, object], other: dict[str, object]
) -> None:
    same = distinctly(one) == distinctly(other)
    assert (digest(canonical_terms(one)) == digest(canonical_terms(other))) is same


def test_one_true_and_the_text_of_one_differ_and_a_float_is_refused() -> None:
    assert len({canonical_terms({"a": value}) for value in (1, True, "1")}) == 3
    with pytest.raises(UnrepresentableTerms):
        canonical_terms({"a": 1.0})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("70.00"), '"70.00"'),
        (Decimal("7E+1"), '"70"'),
        (Decimal("1E-7"), '"0.0000001"'),
        (Decimal("-0.00"), '"0.00"'),
        (Decimal("-3.10"), '"-3.10"'),
        (date(2026, 10, 8), '"2026-10-08"'),
        (datetime(2026, 10, 8, 19, 20, tzinfo=UTC), '"2026-10-08T19:20:00Z"'),
        (
            datetime(2026, 10, 8, 12, 20, 0, 5, tzinfo=timezone(timedelta(hours=-7))),
            '"2026-10-08T19:20:00.000005Z"',
        ),
        (Size.MEDIUM, '"m"'),
        (Quantity.PAIR, "2"),
        ((1, 2), "[1,2]"),
        (2**53, "9007199254740992"),
        (-(2**53), "-9007199254740992"),
    ],
)
def test_money_dates_and_choices_have_one_text_each(value: object, text: str) -> None:
    assert canonical_terms({"a": value}) == f'{{"a":{text}}}'


class Nowhere(tzinfo):
    """A time zone that does not say where it is."""

    def utcoffset(self, moment: datetime | None) -> None:
        return None

    dst = utcoffset

    def tzname(self, moment: datetime | None) -> None:
        return None


def inside_itself() -> list[object]:
    endless: list[object] = []
    endless.append(endless)
    return endless


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1.5, "terms.a: a float has no exact text"),
        (float("nan"), "terms.a: a float has no"),
        (Decimal("NaN"), "terms.a: is not a finite number"),
        (Decimal("-Infinity"), "terms.a: is not a finite number"),
        (Decimal("1e999999999"), "terms.a: has more than 128 digits"),
        (Decimal("1e-999999999"), "terms.a: has more than 128 digits"),
        (2**53 + 1, "terms.a: beyond"),
        (-(2**53) - 1, "terms.a: beyond"),
        ("a\0b", r"terms.a: holds U\+0000"),
        ("\ud800", "terms.a: holds a lone surrogate"),
        ({"b\0": 1}, r"terms.a has a key that: holds U\+0000"),
        ({"\udfff": 1}, "terms.a has a key that: holds a lone surrogate"),
        ({1: "x"}, "terms.a: keys are strings, and one is int"),
        ({"m": 1, Name("m"): 2}, "terms.a: has the key 'm' twice"),
        ([0, {"b": {1}}], r"terms.a\[1\].b: set has no JSON form"),
        (b"x", "terms.a: bytes has no JSON form"),
        (UUID(int=1), "terms.a: UUID has no JSON form"),
        (Plain.ONE, "terms.a: Plain has no JSON form"),
        (object(), "terms.a: object has no JSON form"),
        (datetime(2026, 10, 8), "terms.a: a datetime without a time zone"),  # noqa: DTZ001
        (datetime(2026, 10, 8, tzinfo=Nowhere()), "terms.a: a datetime without a time zone"),
        (datetime.min.replace(tzinfo=timezone(timedelta(hours=1))), "terms.a: has no year"),
        (inside_itself(), "nested more than 64 deep, or inside itself"),
    ],
)
def test_what_has_no_exact_text_is_refused_with_its_path(value: object, message: str) -> None:
    with pytest.raises(UnrepresentableTerms, match=message):
        canonical_terms({"a": value})


@pytest.mark.parametrize("values", [[], "text", None, 1, Decimal(1)])
def test_terms_that_are_no_object_are_a_programming_error(values: object) -> None:
    with pytest.raises(UnrepresentableTerms, match=r"^terms: must be an object"):
        canonical_terms(values)  # type: ignore[arg-type]  # what the test is about


class Lazy:
    def __str__(self) -> str:
        return "later"


def resolve(value: object) -> object:
    if isinstance(value, Lazy):
        return str(value)
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC)
    return value


def test_unknown_objects_are_resolved_once() -> None:
    values = {"a": Lazy(), "b": [datetime(2026, 10, 8)]}  # noqa: DTZ001
    text = canonical_terms(values, resolve=resolve)
    assert text == '{"a":"later","b":["2026-10-08T00:00:00Z"]}'


@pytest.mark.parametrize("value", [object(), 1.5])
def test_what_cannot_be_resolved_either_is_refused(value: object) -> None:
    with pytest.raises(UnrepresentableTerms, match=r"terms\.a"):
        canonical_terms({"a": value}, resolve=resolve)


def test_what_resolves_to_something_unknown_is_refused() -> None:
    with pytest.raises(UnrepresentableTerms, match=r"terms\.a: set has no JSON form"):
        canonical_terms({"a": object()}, resolve=lambda value: {value})


def test_known_values_are_not_resolved() -> None:
    values = {"a": [1, None, True, "x", Decimal(1), date(2026, 1, 1)]}
    assert canonical_terms(values, resolve=lambda value: "other") == canonical_terms(values)


@pytest.mark.slow
@given(terms)
def test_frozen_terms_equal_the_terms_and_thaw_to_plain_json(values: dict[str, object]) -> None:
    frozen = freeze(canonical_terms(values))
    assert frozen == values
    assert (values == frozen) is True
    assert json.loads(json.dumps(thaw(frozen))) == values
    assert type(thaw(frozen)) is dict


def test_frozen_terms_cannot_be_changed_at_any_depth() -> None:
    frozen = freeze('{"a":{"b":[1,{"c":2}]}}')
    inner = frozen["a"]
    assert isinstance(inner, FrozenObject)
    array = inner["b"]
    assert isinstance(array, FrozenArray)
    for container, key in [(frozen, "a"), (inner, "b"), (array, 0), (array[1], "c")]:
        with pytest.raises(TypeError):
            container[key] = 3  # type: ignore[index]  # what the test is about
        with pytest.raises(TypeError):
            del container[key]  # type: ignore[attr-defined]  # what the test is about
    assert frozen == {"a": {"b": [1, {"c": 2}]}}


def test_a_change_of_what_thawed_does_not_reach_the_terms() -> None:
    frozen = freeze('{"a":[1]}')
    thawed = thaw(frozen)
    assert isinstance(thawed, dict)
    thawed["a"].append(2)
    assert frozen == {"a": [1]}


def test_frozen_terms_read_like_a_mapping() -> None:
    frozen = freeze('{"a":1,"b":[2]}')
    assert dict(frozen) == {"a": 1, "b": [2]}
    assert len(frozen) == 2
    assert repr(frozen) == "{'a': 1, 'b': (2,)}"


def test_a_frozen_array_equals_lists_and_tuples_of_the_same_members() -> None:
    array = FrozenArray((1, 2))
    assert array == [1, 2]
    assert [1, 2] == array  # noqa: SIM300 - a list may be on either side
    assert array == (1, 2)
    assert array != [2, 1]
    assert array != "12"
    assert hash(array) == hash((1, 2))


@pytest.mark.parametrize("text", ["[]", "1", "", "{", '"a"'])
def test_only_the_text_of_an_object_can_be_frozen(text: str) -> None:
    with pytest.raises(ValueError, match=r"JSON|Expecting"):
        freeze(text)


def test_digests_are_those_of_the_standard_in_hexadecimal() -> None:
    assert digest("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert keyed_digest("what do ya want for nothing?", b"Jefe") == (
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    )


def test_a_lone_surrogate_has_a_digest_of_its_own() -> None:
    assert digest("\ud800") != digest("?")
    assert keyed_digest("\ud800", b"") != keyed_digest("\ud801", b"")
