"""What the linter finds in a summary, and what it lets pass."""

from __future__ import annotations

import logging
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.utils.translation import gettext_lazy
from markdown_it import MarkdownIt

from poppy_operations.declarations.terms import Terms
from poppy_operations.protocol.canonical import UnrepresentableTerms
from poppy_operations.summaries import Finding, lint_summary
from tests.agents import SessionOf
from tests.shop.models import Item

EXCHANGE = {
    "order_id": "ord_7Hk2",
    "replacement_sku": "stormline-insulated-m",
    "price_difference": {"amount": "70.00", "currency": "USD"},
}
GOOD = (
    "Exchange the jacket on order ord_7Hk2 for the Stormline Insulated Jacket (M), for $70.00 more."
)


def found(summary: str, **values: Any) -> list[tuple[str, str, str]]:
    findings = lint_summary(Terms(values, summary=summary))
    return [(one.kind, one.where, one.what) for one in findings]


def test_a_summary_that_says_everything_is_fine() -> None:
    assert lint_summary(Terms(EXCHANGE, summary=GOOD)) == []


def test_terms_without_a_summary_have_nothing_to_say() -> None:
    assert lint_summary(Terms(EXCHANGE)) == []


def test_what_is_left_out_is_named_with_its_place() -> None:
    findings = lint_summary(Terms(EXCHANGE, summary="Exchange the jacket."))

    assert [str(one) for one in findings] == [
        "The summary does not mention the name ord_7Hk2 (order_id).",
        "The summary does not mention the amount 70.00 (price_difference.amount).",
        "The summary does not mention the name USD (price_difference.currency).",
        "The summary does not mention the name stormline-insulated-m (replacement_sku).",
    ]


@pytest.mark.parametrize(
    ("value", "summary"),
    [
        ("70.00", "for $70"),
        ("70.00", "for 70,00 €"),
        ("-70.00", "you get 70.00 back"),
        ("1500.50", "for $1,500.50"),
        ("1500.50", "für 1.500,50 €"),
        ("1500.50", "pour 1\u202f500,50 €"),
        ("1234567", "for 1'234'567"),
        ("1500", "for 1,500"),
        ("1.500", "for 1,500"),
        ("000123", "for number 123"),
        ("0.00", "for the price as ordered"),
        (Decimal("70.00"), "for $70.00"),
        (2, "2 x a jacket"),
        (-2, "2 fewer"),
        (1, "a jacket"),
        (0, "no fee"),
        (True, "anything"),
        (None, "anything"),
        ("", "anything"),
        ("—", "anything"),
    ],
)
def test_a_mentioned_amount_is_found_however_it_is_written(value: object, summary: str) -> None:
    assert found(summary, value=value) == []


@pytest.mark.parametrize(
    ("value", "summary"),
    [
        ("70.00", "for $7.00"),
        ("70.00", "for $170.00"),
        ("70", "for $70.50"),
        ("20.00", "on 20.001.5"),
        ("1500", "on 1.500.000,00"),
        ("31500", "on 3 1500"),
        (2, "for two"),
        ("0.01", "for free"),
    ],
)
def test_another_amount_is_not_the_one_that_is_meant(value: object, summary: str) -> None:
    assert [kind for kind, _, _ in found(summary, value=value)] == ["amount"]


def test_an_integer_beside_a_currency_may_count_cents() -> None:
    assert found("for $70", price={"amount": 7000, "currency": "USD"}) == []
    assert found("for $70", price={"amount": 7000}) == [("amount", "price.amount", "7000")]


@pytest.mark.parametrize(
    ("currency", "summary", "is_said"),
    [
        ("USD", "7 USD", True),
        ("USD", "$7", True),
        ("EUR", "7 €", True),
        ("CHF", "7 CHF", True),
        ("CHF", "7 francs", False),
        ("EUR", "$7", False),
    ],
)
def test_a_currency_is_mentioned_by_its_code_or_sign(
    currency: str, summary: str, is_said: bool
) -> None:
    assert (found(summary, price={"amount": "7", "currency": currency}) == []) is is_said


def test_nothing_to_pay_needs_no_currency() -> None:
    assert found("at no cost", price={"amount": "0.00", "currency": "USD"}) == []
    assert found("at no cost", price={"amount": "open", "currency": "USD"}) == [
        ("name", "price.amount", "open"),
        ("name", "price.currency", "USD"),
    ]


@pytest.mark.parametrize(
    ("value", "summary", "is_said"),
    [
        (date(2026, 10, 8), "on 2026-10-08", True),
        (date(2026, 10, 8), "on October 8", True),
        (date(2026, 10, 8), "am 8. Oktober", True),
        (date(2026, 10, 8), "on October 9", False),
        (date(2026, 10, 8), "soon", False),
        (datetime(2026, 10, 8, 23, 0, tzinfo=UTC), "on October 9", True),
        (datetime(2026, 10, 8, 23, 0, tzinfo=UTC), "on October 10", False),
        ("2026-13-45", "on 2026-13-45", True),
        ("2026-13-45", "on the 45", False),
        ("9999-12-31T23:59:59Z", "on the last day", False),
    ],
)
def test_a_date_is_mentioned_where_its_day_is(value: object, summary: str, is_said: bool) -> None:
    findings = found(summary, value=value)

    assert [kind for kind, _, _ in findings] == ([] if is_said else ["date"])


@pytest.mark.parametrize(
    ("value", "summary", "is_said"),
    [
        ("stormline-jacket-m", "the Stormline Jacket (M)", True),
        ("stormline-jacket-m", "the Stormline Jacket (L)", False),
        ("Åsa Öberg", "to ÖBERG, ÅSA", True),
        ("ord_7Hk2", "order ord_7hk2", True),
        ("ord_7Hk2", "order ord_7Hk22", False),
        ("M", "in Medium", False),
        ("shop@example.com", "to shop@example.com", True),
    ],
)
def test_a_name_is_mentioned_where_all_of_its_words_are(
    value: str, summary: str, is_said: bool
) -> None:
    assert [kind for kind, _, _ in found(summary, value=value)] == ([] if is_said else ["name"])


def test_lists_and_objects_are_looked_into() -> None:
    assert found("Hats", lines=[{"sku": "hat"}, {"sku": "hats", "sizes": [7, 1]}]) == [
        ("name", "lines[0].sku", "hat"),
        ("amount", "lines[1].sizes[0]", "7"),
    ]


@pytest.mark.requirement("OPS-3-14")
@pytest.mark.parametrize(
    ("summary", "kind", "what"),
    [
        ("See [here](https://x.example).", "link", "[here](https://x.example)"),
        ("See [here][1].", "link", "[here][1]"),
        ("[1]: https://x.example", "link", "[1]: https://x.example"),
        ("See https://x.example/a.", "link", "https://x.example/a."),
        ("See <https://x.example>", "link", "https://x.example"),
        ("See www.x.example", "link", "www.x.example"),
        ("Write to mailto:a@x.example", "link", "mailto:a@x.example"),
        ("![a](https://x.example/a.png)", "image", "![a](https://x.example/a.png)"),
        ("![a][1]", "image", "![a][1]"),
        ("A <b>bold</b> jacket", "html", "<b>"),
        ("<script src=x>", "html", "<script src=x>"),
        ("<img/>", "html", "<img/>"),
        ("<!-- hidden -->", "html", "<!--"),
    ],
)
def test_what_agents_do_not_render_is_found(summary: str, kind: str, what: str) -> None:
    findings = lint_summary(Terms({}, summary=summary))

    assert findings[0] in {Finding(kind, "", what)}  # type: ignore[arg-type]  # a kind
    assert what in str(findings[0])
    assert {one.kind for one in findings} - {"link"} <= {kind}


IN_COMMONMARK = {"link_open": "link", "image": "image", "html_inline": "html", "html_block": "html"}


def read_by_commonmark(tokens: Any) -> set[str]:
    """What a reader of CommonMark 0.31.2 sees in a text that agents show as text."""
    found = set()
    for token in tokens:
        found |= {IN_COMMONMARK.get(token.type, "")} | read_by_commonmark(token.children or ())
    return found - {""}


@pytest.mark.requirement("OPS-9-03", "OPS-3-14")
@pytest.mark.parametrize(
    ("summary", "kinds"),
    [
        ("See [here](https://x.example).", {"link"}),
        ('See [here](https://x.example "there").', {"link"}),
        ("See [here][1].\n\n[1]: https://x.example", {"link"}),
        ("See [here].\n\n[here]: <https://x.example>", {"link"}),
        ("See <https://x.example>", {"link"}),
        ("![a](https://x.example/a.png)", {"image"}),
        ("![a][1]\n\n[1]: https://x.example/a.png", {"image"}),
        ("A <b>bold</b> jacket", {"html"}),
        ("<div>\nA jacket\n</div>", {"html"}),
        ("<!-- hidden -->", {"html"}),
        ("<?php ?>", {"html"}),
        ("*Exchange* the __jacket__:\n\n1. in M\n2. today\n\n- and\n- more", set()),
        ("`<b>` is no HTML in code, and 1\\. is no list", set()),
    ],
)
def test_what_commonmark_reads_as_more_than_text_and_emphasis_is_found(
    summary: str, kinds: set[str]
) -> None:
    found_here = {one.kind for one in lint_summary(Terms({}, summary=summary))}

    assert read_by_commonmark(MarkdownIt("commonmark").parse(summary)) == kinds
    assert kinds <= found_here


@pytest.mark.parametrize(
    ("character", "told"),
    [
        ("\u202e", "U+202E (RIGHT-TO-LEFT OVERRIDE)"),
        ("\u2066", "U+2066 (LEFT-TO-RIGHT ISOLATE)"),
        ("\u200b", "U+200B (ZERO WIDTH SPACE)"),
        ("\u2028", "U+2028 (LINE SEPARATOR)"),
        ("\x07", "U+0007 (a control character)"),
        ("\t", "U+0009 (a control character)"),
    ],
)
def test_characters_that_nobody_sees_are_found_once(character: str, told: str) -> None:
    findings = lint_summary(Terms({}, summary=f"Pay{character} $7{character}"))

    assert [str(one) for one in findings] == [f"The summary holds {told}, which nobody sees."]


@pytest.mark.parametrize(
    "summary",
    [
        "*Exchange* the **jacket**:\n\n- in M\n- today\n",
        "a < b and b > c, see [1]",
        "\u0645\u06cc\u200c\u062e\u0648",
        "3 < 4 (see below)",
    ],
)
def test_plain_text_lists_and_emphasis_are_fine(summary: str) -> None:
    assert lint_summary(Terms({}, summary=summary)) == []


def test_lazy_summaries_and_values_are_read() -> None:
    terms = Terms({"what": gettext_lazy("Done")}, summary=gettext_lazy("It is Done."))  # type: ignore[arg-type]  # lazy texts

    assert lint_summary(terms) == []


def test_values_without_a_form_in_json_are_an_error() -> None:
    with pytest.raises(UnrepresentableTerms, match=r"terms\.price"):
        lint_summary(Terms({"price": 7.5}, summary="For $7.50"))


@pytest.mark.requirement("OPS-3-14")
@pytest.mark.parametrize("debug", [True, False])
@pytest.mark.parametrize(
    ("sku", "problems"),
    [
        ("jacket", []),
        ("<b>hat</b>", ["<b>", "</b>"]),
    ],
)
def test_while_debug_is_on_what_is_wrong_is_logged(
    sku: str,
    problems: list[str],
    debug: bool,
    signed_in: SessionOf,
    jacket: Item,
    settings: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    Item.objects.get_or_create(sku=sku, defaults={"price": Decimal("70.00")})
    settings.DEBUG = debug
    with caplog.at_level(logging.WARNING, "poppy_operations"):
        asked = signed_in.browser().post("/buy/", {"sku": sku, "quantity": "2"})

    assert asked.status_code == 403
    logged = [one.getMessage() for one in caplog.records if "summary" in one.getMessage()]
    told = "shop.buy: The summary holds HTML, which agents show as text:"
    assert logged == [f"{told} {one}" for one in problems if debug]
