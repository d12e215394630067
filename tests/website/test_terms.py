"""What terms and summaries can be, and when they are another revision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from markdown_it import MarkdownIt

from poppy_operations.models import Operation, Revision
from tests.agents import ORDER, SessionOf
from tests.asking import TWO, ask, quiet, recorded
from tests.clock import Clock
from tests.shop.models import Item
from tests.shop.pages import Strange

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]


def _kinds(tokens: Any) -> set[str]:
    found = set()
    for token in tokens:
        found |= {token.type} | _kinds(token.children or ())
    return found


@pytest.mark.requirement("OPS-3-01", "OPS-1-02", "OPS-3-20")
def test_a_batch_is_one_operation_whose_terms_list_everything(
    signed_out: SessionOf, effects: Effects
) -> None:
    browser = signed_out.browser()
    both: Any = {"sku": ["jacket", "hat"]}
    ref = ask(browser, "/batch/", both)
    operation = signed_out.look_up(ref)
    assert operation["terms"] == {"items": [{"sku": "jacket"}, {"sku": "hat"}]}
    assert operation["summary"] == "Buy jacket and hat"
    assert Operation.objects.count() == 1
    signed_out.approve(ref)
    assert browser.post("/batch/", {"sku": "jacket"}).status_code == 403
    assert effects() == []
    assert browser.post("/batch/", both).content == b"all"
    assert effects() == ["batch jacket", "batch hat"]


@pytest.mark.requirement("OPS-1-02", "OPS-3-11")
@pytest.mark.parametrize(
    "summary", ["Room 7.", "*x* **y**\n\n- a\n- b", "<b>[x](http://e)</b>", None]
)
def test_a_summary_goes_through_unchanged_or_is_left_out(
    summary: str | None, signed_out: SessionOf, monkeypatch: Any, effects: Effects
) -> None:
    monkeypatch.setattr(Strange, "terms", {"größe": {"ä": ["ß", None, True, 1]}})
    monkeypatch.setattr(Strange, "summary", summary)
    browser = signed_out.browser()
    ref = ask(browser, "/strange/")
    operation = signed_out.look_up(ref)
    assert operation["terms"] == {"größe": {"ä": ["ß", None, True, 1]}}
    assert operation.get("summary") == summary
    assert ("summary" in operation) == (summary is not None)
    signed_out.approve(ref)
    assert browser.post("/strange/", ORDER).status_code == 200
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-3-15")
@pytest.mark.parametrize(
    "terms",
    [["a"], "a", None, 5, {"a": 1.5}, {"a": float("nan")}, {1: "a"}, {"a": object()}],
    ids=["array", "text", "null", "number", "float", "nan", "key", "object"],
)
def test_terms_that_are_no_json_object_are_a_fault_and_nothing_is_returned(
    terms: Any, signed_out: SessionOf, monkeypatch: Any, effects: Effects
) -> None:
    monkeypatch.setattr(Strange, "terms", terms)
    with pytest.raises(TypeError):
        signed_out.browser().post("/strange/", ORDER)
    quietly = signed_out.browser(quiet()).post("/strange/", ORDER)
    assert quietly.status_code == 500
    assert "Poppy-Operation" not in quietly
    assert not Operation.objects.exists()
    assert effects() == []


@pytest.mark.slow
@pytest.mark.requirement("OPS-3-08")
def test_every_change_of_the_terms_is_another_revision(
    signed_out: SessionOf, monkeypatch: Any
) -> None:
    browser = signed_out.browser()
    variants: list[Any] = [
        {"a": 1}, {"a": "1"}, {"a": True}, {"a": None}, {"a": [1]}, {"a": {"a": 1}}, {"b": 1},
        {"a": 1, "b": 1}, {"a": []}, {"a": {}}, {}, {"a": "é"}, {"a": "e\u0301"},
    ]  # fmt: skip
    revisions = set()
    for terms in variants:
        monkeypatch.setattr(Strange, "terms", terms)
        operation = signed_out.look_up(ask(browser, "/strange/"))
        assert operation["terms"] == terms
        revisions.add(operation["revision"])
    assert len(revisions) == len(variants)
    assert Operation.objects.count() == 1
    monkeypatch.setattr(Strange, "terms", {"b": 1, "a": 1})
    assert signed_out.look_up(ask(browser, "/strange/"))["revision"] in revisions
    assert Revision.objects.count() == len(variants)


@pytest.mark.requirement("OPS-3-06")
def test_an_operation_that_was_forgotten_does_not_lend_its_id_to_the_next_one(
    signed_out: SessionOf, jacket: Item, clock: Clock
) -> None:
    browser = signed_out.browser()
    ref, approval = recorded(signed_out, browser)
    browser.post("/buy/", ORDER)
    clock.at(days=40)
    Operation.objects.all().delete()
    again = signed_out.look_up(ask(signed_out.browser()))
    assert again["operation_id"] != approval["operation_id"]
    assert signed_out.endpoint(ref, approval).status_code == 400


@pytest.mark.requirement("OPS-3-21")
def test_other_terms_of_the_same_action_are_a_new_revision_of_the_known_operation(
    signed_in: SessionOf, jacket: Item
) -> None:
    browser = signed_in.browser()
    path = "/orders/o1/exchange/"
    first = signed_in.look_up(ask(browser, path, ORDER))
    second = signed_in.look_up(ask(browser, path, TWO))
    assert second["operation_id"] == first["operation_id"]
    assert second["revision"] != first["revision"]
    assert (first["terms"]["quantity"], second["terms"]["quantity"]) == (1, 2)


def test_summaries_need_nothing_of_commonmark_but_text(signed_out: SessionOf, jacket: Item) -> None:
    summary = signed_out.look_up(ask(signed_out.browser()))["summary"]
    kinds = _kinds(MarkdownIt("commonmark").parse(summary))
    assert kinds == {"paragraph_open", "inline", "text", "paragraph_close"}
