"""Approvals as agents state them, with and without the declaration, well-formed and not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from poppy_operations.models import Approval
from poppy_operations.protocol.structured import poppy_approval
from tests.agents import SessionOf, approval_of
from tests.asking import (
    NEVER_RETURNED,
    ORDER,
    TWO,
    ask,
    error,
    is_refused_with,
    with_header,
)
from tests.shop.models import Item

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]


@pytest.mark.requirement("OPS-2-10", "OPS-2-12", "OPS-2-24")
@pytest.mark.ambiguity("AMB-03")
def test_amb_03_without_the_declaration_there_is_a_status_and_a_record_and_no_operation(
    signed_out: SessionOf, jacket: Item, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    approval = approval_of(signed_out.look_up(ref))
    never = {**approval, "revision": NEVER_RETURNED}
    for undeclared in (
        signed_out.endpoint(ref, declared=False),
        signed_out.endpoint(ref, never, declared=False),
    ):
        assert undeclared.status_code == 403
        assert undeclared.json() == {"error": "extension_required", "extension": "operations"}
    assert signed_out.endpoint(ref, approval, declared=False).status_code == 204
    status = signed_out.endpoint(ref, declared=False)
    assert status.json() == {"operation_id": approval["operation_id"], "status": "approved"}
    assert browser.post("/buy/", ORDER).status_code == 302
    assert signed_out.endpoint(ref, approval, declared=False).status_code == 204
    status = signed_out.endpoint(ref, declared=False)
    assert status.json() == {"operation_id": approval["operation_id"], "status": "performed"}


@pytest.mark.requirement("OPS-2-10", "OPS-2-17")
@pytest.mark.parametrize(
    "header",
    ['"operations";v="2"', '"operations";v="4"', '"operations";v="3.0"', '"operations";v=" 3"',
     '"operations";v=3', 'operations;v="3"', '"operations"', "", '"operations";v="3',
     '("operations";v="3")'],
)  # fmt: skip
def test_another_version_is_no_declaration(
    header: str, signed_out: SessionOf, jacket: Item
) -> None:
    ref = ask(signed_out.browser())
    response = signed_out.client.post(
        "/poppy/operations",
        data={"ref": ref},
        content_type="application/json",
        headers={**signed_out.headers(), "Poppy-Extensions": header},
    )
    assert response.json() == {"error": "extension_required", "extension": "operations"}


@pytest.mark.requirement("OPS-2-17")
def test_both_versions_declare_this_one(signed_out: SessionOf, jacket: Item) -> None:
    ref = ask(signed_out.browser())
    response = signed_out.client.post(
        "/poppy/operations",
        data={"ref": ref},
        content_type="application/json",
        headers={
            **signed_out.headers(),
            "Poppy-Extensions": '"operations";v="2", "x.example/y";v="1", "operations";v="3"',
        },
    )
    assert error(response) == (403, "approval_required")


# Malformed approvals

REQUIRED = 'operation_id="{operation_id}", revision="{revision}", approver="user"'
MALFORMED = {
    "no operation": 'revision="{revision}", approver="user"',
    "operation is a number": 'operation_id=5, revision="{revision}", approver="user"',
    "operation is a token": 'operation_id={operation_id}, revision="{revision}", approver="user"',
    "no revision": 'operation_id="{operation_id}", approver="user"',
    "revision is a boolean": 'operation_id="{operation_id}", revision, approver="user"',
    "revision is a list": 'operation_id="{operation_id}", revision=("{revision}"), approver="user"',
    "no approver": 'operation_id="{operation_id}", revision="{revision}"',
    "unknown approver": 'operation_id="{operation_id}", revision="{revision}", approver="robot"',
    "approver in capitals": 'operation_id="{operation_id}", revision="{revision}", approver="User"',
    "approver is a token": 'operation_id="{operation_id}", revision="{revision}", approver=user',
    "nothing known": "a=1",
}
UNPARSABLE = {
    "empty": "",
    "no dictionary": '"operation"',
    "cut off": 'operation_id="{operation_id}',
    "upper-case keys": 'Operation_Id="{operation_id}"',
    "text after it": REQUIRED + " more",
    "not ASCII": REQUIRED + ', reference="ä"',
}


@pytest.mark.requirement("OPS-6-02", "OPS-6-03", "OPS-6-04")
@pytest.mark.ambiguity("AMB-04")
@pytest.mark.parametrize("header", MALFORMED.values(), ids=list(MALFORMED))
def test_amb_04_a_malformed_approval_is_an_invalid_request(
    header: str, signed_out: SessionOf, jacket: Item
) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    response = with_header(signed_out, ref, header.format(**signed_out.look_up(ref)))
    assert error(response) == (400, "invalid_request")
    assert not Approval.objects.exists()
    assert ask(browser) == ref


@pytest.mark.requirement("OPS-6-02", "OPS-6-03")
@pytest.mark.ambiguity("AMB-26")
@pytest.mark.parametrize("name", ["operation_id", "revision"])
@pytest.mark.parametrize("value", ["", "a b", "a.b", "a" * 257, "ä".encode().hex() + "/"])
def test_amb_26_what_can_be_no_id_names_nothing(
    name: str, value: str, signed_out: SessionOf, jacket: Item
) -> None:
    ref = ask(signed_out.browser())
    operation = signed_out.look_up(ref)
    response = signed_out.endpoint(ref, {**approval_of(operation), name: value})
    if name == "revision":
        assert is_refused_with(response, operation)
    else:  # The answer would be the revision that it names.
        assert error(response) == (400, "invalid_request")
    assert not Approval.objects.exists()


@pytest.mark.requirement("OPS-6-02")
@pytest.mark.ambiguity("AMB-04")
@pytest.mark.parametrize("header", UNPARSABLE.values(), ids=list(UNPARSABLE))
def test_amb_04_an_approval_that_cannot_be_parsed_is_none(
    header: str, signed_out: SessionOf, jacket: Item
) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    operation = signed_out.look_up(ref)
    response = with_header(signed_out, ref, header.format(**operation))
    assert is_refused_with(response, operation)
    assert not Approval.objects.exists()
    assert ask(browser) == ref


@pytest.mark.requirement("OPS-6-11")
@pytest.mark.ambiguity("AMB-30")
@pytest.mark.parametrize(
    "members",
    ["approved_at=1.5", 'approved_at="1791487260"', "approved_at=-1", "approved_at=?1",
     "input_type=tap", "input_type=5", 'input_type="' + "a" * 257 + '"', "reference=apr_1",
     'reference="a b"', 'reference="' + "a" * 257 + '"', 'approved_at=:AAAA:, input_type=(1 2)'],
)  # fmt: skip
def test_amb_30_an_ill_typed_optional_member_is_dropped_and_the_approval_recorded(
    members: str, signed_out: SessionOf, jacket: Item
) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    header = REQUIRED.format(**signed_out.look_up(ref)) + ", " + members
    assert with_header(signed_out, ref, header).status_code == 204
    row = Approval.objects.get()
    assert (row.approved_at, row.input_type, row.reference) == (None, "", "")
    assert browser.post("/buy/", ORDER).status_code == 302


@pytest.mark.ambiguity("AMB-32")
def test_amb_32_of_a_member_that_comes_twice_the_last_one_counts(
    signed_out: SessionOf, jacket: Item
) -> None:
    browser = signed_out.browser()
    ref, other = ask(browser), ask(browser, "/buy/", TWO)
    operation, elsewhere = signed_out.look_up(ref), signed_out.look_up(other)
    first, second = poppy_approval(approval_of(operation)), poppy_approval(approval_of(elsewhere))
    # Two fields arrive joined; the second is the last.
    assert is_refused_with(with_header(signed_out, ref, f"{first}, {second}"), operation)
    assert not Approval.objects.exists()
    mixed = f'{first}, operation_id="{elsewhere["operation_id"]}"'
    assert error(with_header(signed_out, ref, mixed)) == (400, "invalid_request")
    assert not Approval.objects.exists()
    assert with_header(signed_out, ref, f'approver="robot", {first}').status_code == 204


@pytest.mark.requirement("OPS-6-27", "OPS-8.1-07")
def test_unknown_members_and_a_signature_change_nothing(
    signed_out: SessionOf, jacket: Item
) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    header = REQUIRED.format(**signed_out.look_up(ref))
    header += ", signature=:AAAA:, future=(1 2);a=b, more"
    assert with_header(signed_out, ref, header).status_code == 204
    assert browser.post("/buy/", ORDER).status_code == 302
