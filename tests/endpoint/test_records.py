"""What an approval may say beside what it approves, and what is kept of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

import pytest

from poppy_operations.models import Approval, Performance
from tests.agents import ORDER, SessionOf, approval_of
from tests.asking import TWO, ask, error, price, recorded
from tests.configuring import configure
from tests.connections import in_the_way
from tests.shop.models import Item
from tests.shop.operations import Behaviour

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]


STATED = {"approved_at": 1791487260, "input_type": "tap", "reference": "apr_01JD8ZK3Q9"}


SUBSETS = [dict(some) for size in range(4) for some in combinations(STATED.items(), size)]


def kept() -> Approval:
    """The one approval on record."""
    return Approval.objects.get()


@pytest.mark.requirement("OPS-6-11")
@pytest.mark.parametrize("members", SUBSETS, ids=lambda members: "+".join(members) or "none")
@pytest.mark.parametrize("approver", ["user", "agent"])
def test_optional_members_are_optional(
    approver: str,
    members: dict[str, Any],
    signed_out: SessionOf,
    jacket: Item,
    effects: Effects,
) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    signed_out.approve(ref, approver, **members)
    assert browser.post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-6-07", "OPS-6-12")
@pytest.mark.parametrize("input_type", ["tap", "typed", "voice", "gaze", "brainwave", "x" * 60, ""])
def test_any_input_type_will_do(
    input_type: str, signed_out: SessionOf, jacket: Item, effects: Effects
) -> None:
    browser = signed_out.browser()
    recorded(signed_out, browser, input_type=input_type)
    assert kept().input_type == input_type
    assert browser.post("/buy/", ORDER).status_code == 302


@pytest.mark.requirement("OPS-6-08")
def test_an_agents_approval_has_no_input_type(signed_out: SessionOf, jacket: Item) -> None:
    browser = signed_out.browser()
    signed_out.approve(ask(browser), "agent", **STATED)
    assert (kept().approver, kept().input_type) == ("agent", "")
    assert (kept().approved_at, kept().reference) == (1791487260, "apr_01JD8ZK3Q9")
    assert browser.post("/buy/", ORDER).status_code == 302


@pytest.mark.requirement("OPS-6-05", "OPS-6-06", "OPS-6-09")
@pytest.mark.ambiguity("AMB-29")
@pytest.mark.parametrize("approved_at", [0, 1791487260 - 3600, 1791487260, 10**15 - 1])
def test_amb_29_the_time_that_an_agent_states_is_kept_and_never_judged(
    approved_at: int, signed_out: SessionOf, jacket: Item, effects: Effects
) -> None:
    browser = signed_out.browser()
    recorded(signed_out, browser, approved_at=approved_at, reference="apr_01JD8ZK3Q9")
    assert browser.post("/buy/", ORDER).status_code == 302
    performance = Performance.objects.get(approval__reference="apr_01JD8ZK3Q9")
    assert performance.approval.approved_at == approved_at
    if approved_at == 1791487260:
        moment = datetime.fromtimestamp(approved_at, UTC)
        assert moment.isoformat() == "2026-10-08T19:21:00+00:00"


@pytest.mark.requirement("OPS-6-10")
@pytest.mark.parametrize("keeps", [True, False])
def test_a_site_may_keep_what_agents_state_or_not(
    keeps: bool, signed_out: SessionOf, jacket: Item, settings: Any, effects: Effects
) -> None:
    configure(settings, RECORD_STATEMENTS=keeps)
    browser = signed_out.browser()
    recorded(signed_out, browser, **STATED)
    row = kept()
    stated = (1791487260, "tap", "apr_01JD8ZK3Q9") if keeps else (None, "", "")
    assert (row.approved_at, row.input_type, row.reference) == stated
    assert browser.post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-6-14")
def test_two_approvals_may_have_one_reference(
    signed_out: SessionOf, jacket: Item, effects: Effects
) -> None:
    browser = signed_out.browser()
    for data in (ORDER, TWO):
        recorded(signed_out, browser, "/buy/", data, reference="apr_1")
        assert browser.post("/buy/", data).status_code == 302
    assert len(effects()) == 2
    assert Approval.objects.filter(reference="apr_1").count() == 2


@pytest.mark.requirement("OPS-8.1-02")
def test_the_record_of_what_was_done_holds_the_terms_that_were_approved(
    signed_out: SessionOf, jacket: Item, site: Behaviour
) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    operation = signed_out.look_up(ref)
    signed_out.approve(ref)
    refused: list[type[Exception]] = []

    def cheat(current: Any) -> None:
        for change in (
            lambda: current.terms.update(total="0"),
            lambda: current.terms.__setitem__("quantity", 9),
            lambda: current.terms["total"].__setitem__("amount", "0.01"),
            lambda: setattr(current, "terms", {}),
        ):
            with pytest.raises((TypeError, AttributeError)) as raised:
                change()
            refused.append(raised.type)

    site.before_effect = cheat
    assert browser.post("/buy/", ORDER).status_code == 302
    assert len(refused) == 4
    price("1.00")
    performance = Performance.objects.get()
    assert performance.revision.revision == operation["revision"]
    assert performance.revision.terms == (
        '{"quantity":1,"sku":"jacket","total":{"amount":"70.00","currency":"USD"}}'
    )
    later = signed_out.look_up(ask(browser))
    assert later["revision"] != operation["revision"]


def test_the_endpoint_is_busy_where_an_approval_cannot_be_recorded(
    signed_out: SessionOf, jacket: Item
) -> None:
    ref = ask(signed_out.browser())
    approval = approval_of(signed_out.look_up(ref))
    with in_the_way("INSERT INTO", 2) as hindrance:
        response = signed_out.endpoint(ref, approval)
    assert hindrance.times == 0
    assert error(response) == (503, "temporarily_unavailable")
    assert not Approval.objects.exists()
    assert signed_out.endpoint(ref, approval).status_code == 204


def test_two_equal_approvals_at_once_are_one_record(
    signed_out: SessionOf, jacket: Item, monkeypatch: Any
) -> None:
    ref = ask(signed_out.browser())
    approval = approval_of(signed_out.look_up(ref))
    judged: list[Any] = []

    def meanwhile(*_: Any, **__: Any) -> None:
        if not judged:
            judged.append(None)
            judged.append(signed_out.endpoint(ref, {**approval, "approver": "agent"}))

    monkeypatch.setattr("poppy_operations.gate.references.declined_by_policy", meanwhile)
    assert signed_out.endpoint(ref, approval).status_code == 204
    assert judged[1].status_code == 204
    assert Approval.objects.get().approver == "agent"
