"""``Poppy-Approval``: what is read of it, what is dropped, and what is refused (6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

import pytest

from poppy_operations.models import Approval, Operation
from tests.agents import ORDER, ApiClient, approval_of, operation_in
from tests.configuring import configure
from tests.shop.orders import ApiBehaviour

pytestmark = pytest.mark.usefixtures("transactions")
Effects = Callable[[], list[str]]
OPTIONAL = {"approved_at": 1791487260, "input_type": "tap", "reference": "apr_01JD8ZK3Q9"}


def header(operation: Mapping[str, Any], rest: str = "", approver: str = '"user"') -> str:
    """A ``Poppy-Approval`` written by hand."""
    named = f'operation_id="{operation["operation_id"]}", revision="{operation["revision"]}"'
    return f"{named}, approver={approver}{rest}"


def send(api: ApiClient, value: str) -> Any:
    """Send a header as it is."""
    return api.send(headers={"Poppy-Approval": value})


@pytest.mark.requirement("OPS-6-05", "OPS-6-09", "OPS-6-10", "OPS-6-13")
def test_what_the_agent_stated_is_kept(agents_api: ApiClient) -> None:
    operation = agents_api.ask()
    agents_api.send(approval_of(operation, **OPTIONAL))
    kept = Approval.objects.get(reference="apr_01JD8ZK3Q9")

    assert (kept.approver, kept.input_type, kept.sid) == ("user", "tap", "ses_1")
    assert datetime.fromtimestamp(kept.approved_at or 0, UTC) == datetime(
        2026, 10, 8, 19, 21, tzinfo=UTC
    )


@pytest.mark.requirement("OPS-6-10")
def test_a_site_may_keep_nothing_of_it(agents_api: ApiClient, settings: Any) -> None:
    configure(settings, RECORD_STATEMENTS=False)
    operation = agents_api.ask()

    assert agents_api.send(approval_of(operation, **OPTIONAL)).status_code == 201
    kept = Approval.objects.get()
    assert (kept.approved_at, kept.input_type, kept.reference) == (None, "", "")


@pytest.mark.requirement("OPS-6-11")
@pytest.mark.parametrize(
    "names",
    [names for count in range(4) for names in combinations(OPTIONAL, count)],
    ids="-".join,
)
def test_no_optional_member_has_to_be_there(
    names: tuple[str, ...], agents_api: ApiClient, effects: Effects
) -> None:
    operation = agents_api.ask()
    members: dict[str, Any] = {name: OPTIONAL[name] for name in names}

    assert agents_api.send(approval_of(operation, **members)).status_code == 201
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-6-07", "OPS-6-12")
@pytest.mark.parametrize("input_type", ["tap", "typed", "voice", "brainwave", "x" * 60])
def test_no_input_type_is_unknown_enough(input_type: str, agents_api: ApiClient) -> None:
    operation = agents_api.ask()

    assert agents_api.send(approval_of(operation, input_type=input_type)).status_code == 201
    assert Approval.objects.get().input_type == input_type


@pytest.mark.requirement("OPS-6-08", "OPS-5-01")
def test_the_input_type_of_an_agents_approval_is_ignored(agents_api: ApiClient) -> None:
    operation = agents_api.ask()

    assert agents_api.send(approval_of(operation, "agent", input_type="tap")).status_code == 201
    assert Approval.objects.get().input_type == ""


@pytest.mark.requirement("OPS-6-14")
def test_the_same_reference_may_come_twice(agents_api: ApiClient, effects: Effects) -> None:
    for quantity in (1, 2):
        body = {**ORDER, "quantity": quantity}
        operation = agents_api.ask(body=body)
        answer = agents_api.send(approval_of(operation, reference="apr_1"), body=body)
        assert answer.status_code == 201
    assert len(effects()) == 2


@pytest.mark.requirement("OPS-6-18")
@pytest.mark.ambiguity("AMB-30")
@pytest.mark.parametrize(
    "member",
    [
        ", approved_at=1.5",
        ', approved_at="1791487260"',
        ", approved_at=@1791487260",
        ", approved_at",
        ", approved_at=(1 2)",
        ", approved_at=999999999999999",
        ", input_type=tap",
        f', input_type="{"x" * 257}"',
        ', reference="not an id"',
        ", reference=:YWI=:",
    ],
)
def test_amb_30_an_ill_typed_optional_member_is_dropped(
    member: str, agents_api: ApiClient, effects: Effects
) -> None:
    operation = agents_api.ask()

    assert send(agents_api, header(operation, member)).status_code == 201
    assert len(effects()) == 1
    kept = Approval.objects.get()
    assert (kept.approved_at in {None, 999999999999999}, kept.input_type, kept.reference) == (
        True,
        "",
        "",
    )


@pytest.mark.requirement("OPS-6-19", "OPS-8.1-07")
@pytest.mark.parametrize(
    "members",
    [", future=1", ", sig=:AAA=:", ", x;y=2", ", list=(1 2)", ", signature=:AAAA:, future", ";p=1"],
)
def test_members_and_parameters_that_nobody_knows_are_ignored(
    members: str, agents_api: ApiClient, effects: Effects
) -> None:
    operation = agents_api.ask()

    assert send(agents_api, header(operation, members)).status_code == 201
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-6-02", "OPS-6-03", "OPS-6-04")
@pytest.mark.ambiguity("AMB-04")
@pytest.mark.parametrize(
    "value",
    [
        'revision="{revision}", approver="user"',
        'operation_id=7, revision="{revision}", approver="user"',
        'operation_id={operation_id}, revision="{revision}", approver="user"',
        'operation_id="{operation_id}", approver="user"',
        'operation_id="{operation_id}", revision=1, approver="user"',
        'operation_id="{operation_id}", revision="{revision}"',
        'operation_id="{operation_id}", revision="{revision}", approver="User"',
        'operation_id="{operation_id}", revision="{revision}", approver="robot"',
        'operation_id="{operation_id}", revision="{revision}", approver=user',
    ],
)
def test_amb_04_an_approval_without_what_it_needs_is_no_request(
    value: str, agents_api: ApiClient, effects: Effects
) -> None:
    answer = send(agents_api, value.format(**agents_api.ask()))

    assert (answer.status_code, answer.json()) == (400, {"error": "invalid_request"})
    assert effects() == []


@pytest.mark.requirement("OPS-6-02", "OPS-6-03")
@pytest.mark.parametrize(
    "value",
    [
        'operation_id="", revision="{revision}", approver="user"',
        'operation_id="not an id", revision="{revision}", approver="user"',
        'operation_id="{operation_id}", revision="", approver="user"',
        'operation_id="{operation_id}", revision="not an id", approver="user"',
    ],
)
def test_an_approval_that_names_what_no_id_can_be_names_nothing(
    value: str, agents_api: ApiClient, effects: Effects
) -> None:
    operation = agents_api.ask()

    assert operation_in(send(agents_api, value.format(**operation)))["terms"] == operation["terms"]
    assert effects() == []


@pytest.mark.requirement("OPS-6-16", "OPS-9-01")
@pytest.mark.ambiguity("AMB-04", "AMB-36")
@pytest.mark.parametrize("needed", [True, False])
@pytest.mark.parametrize("damage", ["{},", "{}, Upper=1", "{}, x=ä", "({}", "", "  "])
def test_amb_04_amb_36_an_unparsable_header_is_asked_again_and_never_performed(
    damage: str, needed: bool, agents_api: ApiClient, shop: ApiBehaviour, effects: Effects
) -> None:
    operation = agents_api.ask()
    shop.needed = needed
    answer = send(agents_api, damage.format(header(operation)))

    assert operation_in(answer)["terms"] == operation["terms"]
    assert effects() == []


@pytest.mark.requirement("OPS-6-16")
@pytest.mark.ambiguity("AMB-32")
def test_amb_32_of_a_key_that_comes_twice_the_last_one_counts(
    agents_api: ApiClient, effects: Effects
) -> None:
    operation = agents_api.ask()
    other = agents_api.ask(body={**ORDER, "quantity": 2})
    mixed = f'{header(operation)}, revision="{other["revision"]}"'
    assert operation_in(send(agents_api, mixed))
    assert effects() == []

    joined = f"{header(other)}, {header(operation)}"
    assert send(agents_api, joined).status_code == 201
    assert effects() == ["api.order 1 jacket"]


@pytest.mark.requirement("OPS-6-15")
def test_an_approval_is_seen_in_its_header_alone(agents_api: ApiClient, effects: Effects) -> None:
    operation = agents_api.ask()
    approval = approval_of(operation)
    agents_api.session.client.cookies["Poppy-Approval"] = header(operation)

    for answer in (
        agents_api.send(body={**ORDER, "approval": approval, "Poppy-Approval": header(operation)}),
        agents_api.send(path=f"{agents_api.path}?approval={operation['operation_id']}"),
        agents_api.send(),
    ):
        operation_in(answer)
    assert effects() == []


@pytest.mark.requirement("OPS-6-06")
@pytest.mark.parametrize("approved_at", [0, 1, 4102444800, -1])
def test_approved_at_is_compared_with_nothing(approved_at: int, agents_api: ApiClient) -> None:
    operation = agents_api.ask()

    answer = agents_api.send(approval_of(operation, approved_at=approved_at))
    assert answer.status_code == 201


@pytest.mark.ambiguity("AMB-36")
def test_amb_36_an_approval_makes_a_request_gated_whatever_is_needed_by_now(
    agents_api: ApiClient, shop: ApiBehaviour, effects: Effects
) -> None:
    operation = agents_api.ask()
    shop.needed = False
    assert agents_api.approve(operation).status_code == 201
    again = agents_api.approve(operation)

    assert again.status_code == 201
    assert effects() == ["api.order 1 jacket"]
    assert Operation.objects.get().state == Operation.State.PERFORMED
    assert agents_api.send().status_code == 201  # Without one, it needs none.
    assert len(effects()) == 2


@pytest.mark.requirement("OPS-6-22", "OPS-6-23", "OPS-9-04")
@pytest.mark.parametrize("keys", [("K1", "K1", "K1"), ("K1", "K2", "K3"), ("K1", "", "K2")])
def test_an_idempotency_key_says_nothing(
    keys: tuple[str, str, str], agents_api: ApiClient, effects: Effects
) -> None:
    operation = agents_api.ask(headers={"Idempotency-Key": keys[0]})
    first = agents_api.approve(operation, headers={"Idempotency-Key": keys[1]})
    again = agents_api.approve(operation, headers={"Idempotency-Key": keys[2]})

    assert (first.status_code, again.status_code) == (201, 201)
    assert first.content == again.content
    assert len(effects()) == 1
