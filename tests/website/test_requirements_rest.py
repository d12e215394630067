"""What concerns every interface, or only the form of things."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone
from markdown_it import MarkdownIt

from poppy_operations.lifecycle import asking
from poppy_operations.maintenance import purge
from poppy_operations.models import Operation
from tests.agents import SessionOf
from tests.api.agents import ApiClient
from tests.shop.models import Item
from tests.shop.operations import buy
from tests.website.asking import ORDER, TWO, ask

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]


@pytest.mark.requirement("OPS-2-07")
def test_every_interface_offered_has_the_whole_loop(
    signed_in: SessionOf, jacket: Item, effects: Effects
) -> None:
    browser = signed_in.browser()
    ref = ask(browser)
    signed_in.approve(ref)
    assert browser.post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 1
    assert browser.post("/buy/", ORDER).status_code == 403
    assert signed_in.status(ref) == "performed"

    api = ApiClient(signed_in)
    operation = api.ask()
    performed = api.approve(operation)
    assert performed.status_code == 201
    again = api.approve(operation)
    assert (again.status_code, again.content) == (201, performed.content)
    assert len(effects()) == 2


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


@pytest.mark.requirement("OPS-3-30")
def test_a_revision_that_can_be_approved_for_days_is_remembered_for_days(
    signed_out: SessionOf, jacket: Item, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buy, "lifetime", timedelta(days=3))
    start = timezone.now().replace(microsecond=0)
    with time_machine.travel(start, tick=False) as clock:
        browser = signed_out.browser()
        ref = ask(browser)
        signed_out.approve(ref)
        clock.move_to(start + timedelta(days=1))
        later = signed_out.browser()
        assert later.post("/buy/", ORDER).status_code == 302
        clock.move_to(start + timedelta(days=3))
        assert purge().operations == 0
        assert signed_out.status(ref) == "performed"
        clock.move_to(start + timedelta(days=4, seconds=1))
        assert purge().operations == 1
        assert not Operation.objects.exists()


@pytest.mark.requirement("OPS-4-28")
def test_references_of_any_form_serve(
    signed_out: SessionOf, jacket: Item, monkeypatch: pytest.MonkeyPatch, effects: Effects
) -> None:
    monkeypatch.setattr(asking, "new_ref", lambda: "exc_5Rt2.1791487200.k3Jd9Qx2mW8v")
    browser = signed_out.browser()
    ref = ask(browser)
    assert ref == "exc_5Rt2.1791487200.k3Jd9Qx2mW8v"
    signed_out.approve(ref)
    assert browser.post("/buy/", ORDER).status_code == 302
    assert signed_out.status(ref) == "performed"
    assert len(effects()) == 1


def _kinds(tokens: Any) -> set[str]:
    found = set()
    for token in tokens:
        found |= {token.type} | _kinds(token.children or ())
    return found


@pytest.mark.requirement("OPS-9-03")
def test_summaries_need_nothing_of_commonmark_but_text(signed_out: SessionOf, jacket: Item) -> None:
    summary = signed_out.look_up(ask(signed_out.browser()))["summary"]
    kinds = _kinds(MarkdownIt("commonmark").parse(summary))
    assert kinds == {"paragraph_open", "inline", "text", "paragraph_close"}
