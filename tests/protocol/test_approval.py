from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from poppy_operations.protocol.approval import (
    ApprovalStatement,
    MalformedApproval,
    approval_from_header,
    approval_from_json,
)
from poppy_operations.protocol.ids import is_id
from poppy_operations.protocol.structured import poppy_approval
from tests.protocol import examples
from tests.protocol.fields import UNPARSABLE, fields

IDS = {"operation_id": "exc_5Rt2", "revision": "1791487200-k3Jd9Qx2mW8v"}
NEEDED: dict[str, object] = {**IDS, "approver": "user"}
BARE = ApprovalStatement("exc_5Rt2", "1791487200-k3Jd9Qx2mW8v", "user")
NEEDED_IN_HEADER = 'operation_id="exc_5Rt2", revision="1791487200-k3Jd9Qx2mW8v", approver="user"'
OPTIONAL: dict[str, object] = {
    "approved_at": 1791487260,
    "input_type": "tap",
    "reference": "apr_01JD8ZK3Q9",
}

ids = st.from_regex(r"[A-Za-z0-9_-]{1,40}", fullmatch=True)
statements = st.builds(
    ApprovalStatement,
    operation_id=ids,
    revision=ids,
    approver=st.just("user"),
    approved_at=st.none() | st.integers(0, 10**15 - 1),
    input_type=st.none() | st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20),
    reference=st.none() | ids,
)


def test_the_user_approval_of_the_text_is_read_from_its_header() -> None:
    assert approval_from_header(examples.USER_APPROVAL) == ApprovalStatement(
        operation_id="exc_5Rt2",
        revision="1791487200-k3Jd9Qx2mW8v",
        approver="user",
        approved_at=1791487260,
        input_type="tap",
        reference="apr_01JD8ZK3Q9",
    )


def test_the_agent_approval_of_the_text_is_read_from_its_header() -> None:
    assert approval_from_header(examples.AGENT_APPROVAL) == ApprovalStatement(
        operation_id="exc_5Rt2",
        revision="1791487200-k3Jd9Qx2mW8v",
        approver="agent",
        approved_at=1791487255,
        reference="apr_01JD8ZK3R4",
    )


def test_an_approval_in_json_says_what_its_header_says() -> None:
    assert approval_from_json({**NEEDED, **OPTIONAL}) == approval_from_header(
        examples.USER_APPROVAL
    )


@pytest.mark.slow
@given(statements)
def test_every_approval_reads_back_as_it_was_written(statement: ApprovalStatement) -> None:
    members = statement.members()
    assert approval_from_header(poppy_approval(members)) == statement
    assert approval_from_json(members) == statement


@pytest.mark.parametrize(
    "chosen", [chosen for size in range(4) for chosen in combinations(OPTIONAL, size)]
)
def test_any_optional_member_can_be_missing(chosen: tuple[str, ...]) -> None:
    statement = approval_from_json({**NEEDED, **{name: OPTIONAL[name] for name in chosen}})
    assert statement.members() == {**NEEDED, **{name: OPTIONAL[name] for name in chosen}}
    assert statement.dropped == ()


@pytest.mark.ambiguity("AMB-04")
@pytest.mark.parametrize("value", [*UNPARSABLE, "", " "])
def test_amb_04_a_header_that_cannot_be_parsed_holds_no_approval(value: str) -> None:
    assert approval_from_header(value) is None


@pytest.mark.requirement("OPS-6-17")
@pytest.mark.ambiguity("AMB-04")
@pytest.mark.parametrize("name", ["operation_id", "revision", "approver"])
@pytest.mark.parametrize("value", [None, "user", "1", "1.5", "?1", ":dXNlcg==:", '("user")', "@1"])
def test_amb_04_a_needed_member_missing_or_of_another_type_voids_the_approval(
    name: str, value: str | None
) -> None:
    members = {key: f'"{member}"' for key, member in NEEDED.items()}
    members[name] = "" if value is None else value
    field = ", ".join(f"{key}={member}" for key, member in members.items() if member)
    with pytest.raises(MalformedApproval) as malformed:
        approval_from_header(field)
    expected = {key: member for key, member in IDS.items() if key != name}
    assert malformed.value.operation_id == expected.get("operation_id")
    assert malformed.value.revision == expected.get("revision")


@pytest.mark.ambiguity("AMB-04")
@pytest.mark.parametrize("approver", ["User", "robot", "", "users", None, 1, ["user"], True])
def test_amb_04_the_approver_is_user_or_agent(approver: object) -> None:
    with pytest.raises(MalformedApproval, match="user or agent") as malformed:
        approval_from_json({**NEEDED, "approver": approver})
    assert malformed.value.operation_id == "exc_5Rt2"
    assert malformed.value.revision == "1791487200-k3Jd9Qx2mW8v"


@pytest.mark.ambiguity("AMB-04")
@pytest.mark.parametrize("value", [None, [], "text", 1, True, {}, {"operation_id": 1}])
def test_amb_04_json_that_is_no_approval_is_malformed(value: object) -> None:
    with pytest.raises(MalformedApproval) as malformed:
        approval_from_json(value)
    assert malformed.value.operation_id is None
    assert malformed.value.revision is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "An approval is an object."),
        ({"approver": "user"}, "An approval names an operation and a revision."),
        (IDS, "The approver of an approval is user or agent."),
    ],
)
def test_a_malformed_approval_says_what_is_wrong_with_it(value: object, message: str) -> None:
    with pytest.raises(MalformedApproval) as malformed:
        approval_from_json(value)
    assert str(malformed.value) == message


@pytest.mark.ambiguity("AMB-04")
def test_amb_04_only_ids_are_readable_in_a_malformed_approval() -> None:
    with pytest.raises(MalformedApproval) as malformed:
        approval_from_json({"operation_id": "a\0", "revision": "r_1", "approver": "robot"})
    assert malformed.value.operation_id is None
    assert malformed.value.revision == "r_1"


@pytest.mark.ambiguity("AMB-26")
@pytest.mark.parametrize("text", ["", "a b", "a\0b", "\ud800", "x" * 257, "é", "a\n"])
def test_amb_26_text_that_can_be_no_id_names_nothing(text: str) -> None:
    statement = approval_from_json({**NEEDED, "operation_id": text, "revision": text})
    assert (statement.operation_id, statement.revision) == ("", "")


@pytest.mark.ambiguity("AMB-30")
@pytest.mark.parametrize("value", ["1.5", '"1791487260"', "@1791487260", "?1", "now", "-1", "(1)"])
def test_amb_30_an_ill_typed_time_in_the_header_is_dropped(value: str) -> None:
    statement = approval_from_header(f"{NEEDED_IN_HEADER}, approved_at={value}")
    assert statement == replace(BARE, dropped=("approved_at",))


@pytest.mark.requirement("OPS-6-17")
@pytest.mark.ambiguity("AMB-30")
def test_amb_30_bare_keys_and_tokens_are_no_optional_members() -> None:
    statement = approval_from_header(f"{NEEDED_IN_HEADER}, approved_at, input_type=tap, reference")
    assert statement is not None
    assert statement.members() == NEEDED
    assert set(statement.dropped) == {"approved_at", "input_type", "reference"}


@pytest.mark.ambiguity("AMB-30")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("approved_at", 1791487260.0),
        ("approved_at", True),
        ("approved_at", "1791487260"),
        ("approved_at", None),
        ("approved_at", -1),
        ("approved_at", 10**15),
        ("approved_at", -(10**15)),
        ("input_type", 1),
        ("input_type", None),
        ("input_type", "x" * 257),
        ("input_type", "ta\np"),
        ("input_type", "\0"),
        ("input_type", "\x7f"),
        ("input_type", "\ud800"),
        ("reference", 1),
        ("reference", None),
        ("reference", ""),
        ("reference", "a b"),
        ("reference", "a.b"),
        ("reference", "x" * 257),
    ],
)
def test_amb_30_an_optional_member_that_is_not_as_it_must_be_is_dropped(
    name: str, value: object
) -> None:
    statement = approval_from_json({**NEEDED, **OPTIONAL, name: value})
    assert statement.dropped == (name,)
    kept = {key: member for key, member in OPTIONAL.items() if key != name}
    assert statement.members() == {**NEEDED, **kept}


@pytest.mark.ambiguity("AMB-29")
@pytest.mark.parametrize("approved_at", [0, 1, 1791487260, 10**15 - 1])
def test_amb_29_the_time_of_an_approval_is_never_judged(approved_at: int) -> None:
    assert approval_from_json({**NEEDED, "approved_at": approved_at}).approved_at == approved_at


@pytest.mark.parametrize(
    "input_type", ["tap", "typed", "voice", "gaze", "brainwave", "x" * 256, "Geste é"]
)
def test_any_way_of_answering_is_taken(input_type: str) -> None:
    assert approval_from_json({**NEEDED, "input_type": input_type}).input_type == input_type


@pytest.mark.parametrize("input_type", ["tap", 1, "x" * 300])
def test_how_the_user_answered_is_ignored_where_the_agent_approved(input_type: object) -> None:
    with_it = approval_from_json({**NEEDED, "approver": "agent", "input_type": input_type})
    assert with_it == approval_from_json({**NEEDED, "approver": "agent"})
    assert with_it.input_type is None


def test_unknown_members_of_the_header_are_ignored() -> None:
    field = f"future=1, sig=:AAA=:, x;y=2, {NEEDED_IN_HEADER};z, list=(1 2)"
    assert approval_from_header(field) == BARE


def test_unknown_members_in_json_are_ignored() -> None:
    statement = approval_from_json({**NEEDED, "future": {"a": [1]}, "operation": None})
    assert statement == BARE


@pytest.mark.ambiguity("AMB-32")
def test_amb_32_joined_headers_are_one_approval_whose_last_members_count() -> None:
    joined = f'{examples.USER_APPROVAL},operation_id="exc_9", revision="r_9", approver="agent"'
    statement = approval_from_header(joined)
    assert statement is not None
    assert (statement.operation_id, statement.revision) == ("exc_9", "r_9")
    assert statement.approver == "agent"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from([*NEEDED, *OPTIONAL, "other"]), inner, max_size=6)
    ),
    max_leaves=6,
)


def is_as_promised(statement: ApprovalStatement | None) -> bool:
    """Whether a statement has nothing in it that the rest of the code could stumble over."""
    return statement is None or (
        all(is_id(name) or name == "" for name in (statement.operation_id, statement.revision))
        and statement.approver in ("user", "agent")
        and (statement.reference is None or is_id(statement.reference))
    )


@given(fields)
@example("operation_id, revision, approver")
def test_reading_a_header_fails_with_a_malformed_approval_or_not_at_all(value: str) -> None:
    with suppress(MalformedApproval):
        assert is_as_promised(approval_from_header(value))


@given(json_values)
def test_reading_json_fails_with_a_malformed_approval_or_not_at_all(value: object) -> None:
    with suppress(MalformedApproval):
        assert is_as_promised(approval_from_json(value))
