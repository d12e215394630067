from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import http_sf
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from poppy_operations.protocol.approval import approval_from_header
from poppy_operations.protocol.structured import (
    InnerList,
    declares_operations,
    parse_dictionary,
    poppy_approval,
    poppy_operation,
    string_member,
)
from tests.protocol import examples
from tests.protocol.fields import UNPARSABLE, fields


def test_every_type_of_value_can_be_told_apart() -> None:
    members = parse_dictionary(
        'string="a", token=a, integer=1, decimal=1.0, yes, no=?0, octets=:YQ==:, date=@1, '
        'display=%"a", list=("a" b;x=1);y, parameters="a";x=1'
    )
    assert members is not None
    assert members["string"] == "a"
    assert type(members["string"]) is str
    assert not isinstance(members["token"], str)
    assert (members["integer"], type(members["integer"])) == (1, int)
    assert (members["decimal"], type(members["decimal"])) == (Decimal("1.0"), Decimal)
    assert members["yes"] is True
    assert members["no"] is False
    assert members["octets"] == b"a"
    assert members["date"] == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert not isinstance(members["display"], str)
    assert isinstance(members["list"], InnerList)
    assert members["list"].items[0] == "a"
    assert not isinstance(members["list"].items[1], str)
    assert members["parameters"] == "a"


def test_a_string_member_is_a_string_and_nothing_else() -> None:
    members = parse_dictionary('a="x", b=x, c=1, d, e=:eA==:, f=%"x", g=("x"), h=@1')
    assert members is not None
    found = {key: string_member(members, key) for key in (*members, "absent")}
    assert found == {**dict.fromkeys("bcdefgh"), "a": "x", "absent": None}


@pytest.mark.parametrize("value", UNPARSABLE)
def test_a_field_with_a_fault_is_no_dictionary_at_all(value: str) -> None:
    assert parse_dictionary(value) is None


def test_an_empty_field_is_an_empty_dictionary() -> None:
    assert parse_dictionary("") == {}
    assert parse_dictionary("  ") == {}


@pytest.mark.ambiguity("AMB-32")
def test_amb_32_of_a_key_that_comes_twice_the_last_value_counts() -> None:
    assert parse_dictionary('a="1", b=2, a="3"') == {"a": "3", "b": 2}
    assert parse_dictionary("a=1,a") == {"a": True}


@pytest.mark.slow
@given(fields)
@example("\udfff")
def test_reading_a_dictionary_never_fails(value: str) -> None:
    members = parse_dictionary(value)
    assert members is None or isinstance(members, dict)


def test_reading_takes_time_in_proportion_to_the_field() -> None:
    value = ", ".join(f'k{number}="{"x" * 100}"' for number in range(2000))
    members = parse_dictionary(value)
    assert members is not None
    assert len(members) == 2000


@pytest.mark.requirement("OPS-2-08")
@pytest.mark.parametrize(
    "value",
    [
        '"operations";v="3"',
        '"x.example/y";v="1", "operations";v="3"',
        '"operations";v="2", "operations";v="3"',
        '"operations";other;v="3";x=1',
        ' "operations";v="3" ',
        '"operations";v="2";v="3"',
        '("operations"), "operations"; v="3"',
    ],
)
def test_a_field_with_the_extension_and_its_version_declares_it(value: str) -> None:
    assert declares_operations(value)


@pytest.mark.requirement("OPS-2-08")
@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "operations;v=3",
        'operations;v="3"',
        '"operations";v=3',
        '"operations";v=3.0',
        '"operations";v',
        '"operations"',
        '"operations";v="2"',
        '"operations";v="4"',
        '"operations";v="3.0"',
        '"operations";v=" 3"',
        '"operations";V="3"',
        '"Operations";v="3"',
        '("operations");v="3"',
        '("operations";v="3")',
        '%"operations";v="3"',
        '"operations";v=%"3"',
        '"x";v="3", "operations"',
        '"operations";v="3",',
        '"operations";v="3" "x"',
        '{"operations": "3"}',
        '"operations";v="3", "é"',
        "\ud800",
    ],
)
def test_any_other_field_declares_nothing(value: str | None) -> None:
    assert not declares_operations(value)


@given(fields)
def test_reading_a_declaration_never_fails(value: str) -> None:
    assert declares_operations(value) in (True, False)


@pytest.mark.requirement("OPS-4-23", "OPS-4-24", "OPS-9-01")
def test_the_reference_is_a_dictionary_of_two_strings_as_in_the_example() -> None:
    value = poppy_operation("ses_Hq3vT8nW2kLm9xRb", "exc_5Rt2.1791487200.k3Jd9Qx2mW8v")
    assert value == 'sid="ses_Hq3vT8nW2kLm9xRb", ref="exc_5Rt2.1791487200.k3Jd9Qx2mW8v"'
    members = http_sf.parse(value.encode(), tltype="dictionary")
    assert members == {
        "sid": ("ses_Hq3vT8nW2kLm9xRb", {}),
        "ref": ("exc_5Rt2.1791487200.k3Jd9Qx2mW8v", {}),
    }


@given(
    st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20),
    st.from_regex(r"[A-Za-z0-9_.-]{1,40}", fullmatch=True),
)
def test_every_reference_reads_back_as_it_was_written(sid: str, ref: str) -> None:
    assert parse_dictionary(poppy_operation(sid, ref)) == {"sid": sid, "ref": ref}


@pytest.mark.requirement("OPS-4-26", "OPS-4-27")
@pytest.mark.parametrize(
    ("sid", "ref"),
    [("ses", "x" * 2049), ("ses", ""), ("ses", "a/b"), ("ses", "a\r\nb"), ("a\r\nb", "ref")],
)
def test_what_is_no_reference_is_not_sent(sid: str, ref: str) -> None:
    with pytest.raises(ValueError, match=r"reference|disallowed"):
        poppy_operation(sid, ref)


@pytest.mark.parametrize("value", [examples.USER_APPROVAL, examples.AGENT_APPROVAL])
def test_the_approvals_of_the_text_are_written_as_in_the_text(value: str) -> None:
    statement = approval_from_header(value)
    assert statement is not None
    assert poppy_approval(statement.members()) == value


def test_an_approval_that_does_not_fit_into_a_header_is_refused() -> None:
    with pytest.raises(ValueError, match="disallowed"):
        poppy_approval({"operation_id": "é"})
