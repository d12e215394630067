"""What the demo agent makes of terms, instructions and what it finds on the wire."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from example_project.demo_agent.companion import Companion
from example_project.demo_agent.instruction import Instruction, instruction_of
from example_project.demo_agent.terms import Row, disagreements, rows
from example_project.demo_agent.wire import Exchange
from example_project.tour.agent import SESSION_ID
from example_project.tour.web import Answer

SHOP = "http://127.0.0.1:8000"
ASKED = {"order_id": "ord_1", "item_id": "itm_1", "replacement_sku": "jacket-m"}
TERMS: dict[str, Any] = {**ASKED, "price_difference": {"amount": "70.00", "currency": "USD"}}
SUMMARY = "Exchange itm_1 of ord_1 for the Jacket (M), for $70.00 more."


def answer(status: int = 200, body: bytes = b"", url: str = SHOP, **headers: str) -> Answer:
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Answer("POST", url, status, named, body)


def changed(**members: object) -> dict[str, Any]:
    return {**TERMS, "price_difference": {**TERMS["price_difference"], **members}}


def test_an_instruction_covers_an_exchange_below_its_limit() -> None:
    assert Instruction(Decimal(100)).reason_not_covered(TERMS) == ""
    assert Instruction(Decimal(100)).reason_not_covered(changed(amount="-20.00")) == ""


@pytest.mark.parametrize(
    ("terms", "reason"),
    [
        (changed(amount="100.00"), "not under $100"),
        (changed(amount="free"), "cannot tell what it costs"),
        (changed(amount=None), "cannot tell what it costs"),
        ({**TERMS, "price_difference": "70.00"}, "cannot tell what it costs"),
        (changed(currency="EUR"), "this is in EUR"),
        ({**TERMS, "subscription": "monthly"}, "do not understand all of these terms"),
        ({}, "do not understand all of these terms"),
    ],
)
def test_what_an_instruction_does_not_cover_the_user_is_asked(
    terms: dict[str, Any], reason: str
) -> None:
    assert reason in Instruction(Decimal(100)).reason_not_covered(terms)


@pytest.mark.parametrize(
    ("text", "limit"),
    [("100", "100"), (" 19.99 ", "19.99"), ("0", None), ("-5", None), ("NaN", None), ("all", None)],
)
def test_an_instruction_names_an_amount(text: str, limit: str | None) -> None:
    instruction = instruction_of(text)

    assert (instruction and str(instruction.limit)) == limit


def test_terms_that_are_not_what_was_asked_for_are_pointed_out() -> None:
    operation = {"terms": TERMS, "summary": SUMMARY}
    assert disagreements(operation, ASKED) == []
    assert disagreements({"terms": TERMS}, ASKED) == []

    other = disagreements(operation, {**ASKED, "replacement_sku": "hat"})
    assert other == ["The browser asked for replacement_sku hat, and the terms say jacket-m."]
    (smaller,) = disagreements({**operation, "summary": SUMMARY.replace("70.00", "7.00")}, ASKED)
    assert "does not mention the amount 70.00" in smaller


def test_terms_are_shown_beside_those_of_an_earlier_revision() -> None:
    assert rows({"sizes": ["s", {"n": 1}], "price": TERMS["price_difference"]}, None) == [
        Row("sizes 1", "s"),
        Row("sizes 2: n", "1"),
        Row("price", "70.00 USD"),
    ]
    compared = rows({"a": "1", "b": "2"}, {"b": "3", "c": "4"})
    assert [(one.name, one.before, one.now) for one in compared] == [
        ("a", "–", "1"),
        ("b", "3", "2"),
        ("c", "4", "–"),
    ]
    assert all(one.is_changed for one in compared)


@pytest.mark.parametrize(
    ("url", "sid", "is_taken"),
    [
        (SHOP, SESSION_ID, True),
        (SHOP, "ses_other", False),
        ("http://127.0.0.1:9999", SESSION_ID, False),
    ],
)
def test_a_reference_is_taken_from_the_shop_and_for_its_own_session_only(
    url: str, sid: str, is_taken: bool
) -> None:
    header = f'sid="{sid}", ref="abc"'
    taken = Companion(SHOP)._reference_of_mine(answer(403, url=url, Poppy_Operation=header))

    assert (taken is not None) is is_taken
    assert Companion(SHOP)._reference_of_mine(answer(403, b'sid="x", ref="abc"')) is None


def test_the_wire_shows_what_tells_something_first_and_cuts_tokens() -> None:
    shown = Exchange(
        1,
        "Agent",
        answer(403, b'{"error":"x"}', Date="now", Content_Type="application/json", Poppy_A="b"),
    )
    assert [one.name for one in shown.headers.telling] == ["Poppy-A", "Content-Type"]
    assert [one.name for one in shown.headers.others] == ["Date"]
    assert (shown.line, shown.status, shown.is_refusal) == ("POST /", "403 Forbidden", True)
    assert shown.body == '{\n  "error": "x"\n}'
    token = Exchange(2, "Agent", answer(Set_Cookie="x" * 200)).headers.telling[0]
    assert token.value.endswith("… (200 characters)")


def test_what_goes_wrong_is_told_and_nothing_else_happens() -> None:
    companion = Companion(SHOP)

    for what in ("ask", "continue", "approve", "refuse", "withdraw"):
        assert companion.do(what, {})
    assert not companion.do("else", {})

    assert companion.question is None
    assert {moment.who for moment in companion.moments} == {"problem", "you"}
