"""What an approval may say beside what it approves, what is kept of it, and what terms can be."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

import pytest
from django.test import Client

from poppy_operations.advertising import operations_fragment
from poppy_operations.declarations.registry import registry
from poppy_operations.models import Approval, Operation, Performance, Revision
from poppy_operations.protocol.structured import declares_operations
from tests.agents import HOST, SessionOf, approval_of, reference
from tests.shop.models import Item
from tests.shop.operations import Behaviour
from tests.website.asking import ORDER, TWO, ask, is_refused_with, price, quiet, recorded
from tests.website.conftest import Clock
from tests.website.site import Strange

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.website.site")]
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
    settings.POPPY_OPERATIONS = {**settings.POPPY_OPERATIONS, "RECORD_STATEMENTS": keeps}
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


@pytest.mark.requirement("OPS-1-10")
def test_what_is_listed_and_what_is_declared_have_one_name_and_version(
    signed_out: SessionOf,
) -> None:
    [entry] = operations_fragment()["operations"]
    header = signed_out.headers()["Poppy-Extensions"]
    assert entry["version"] == "3"
    assert header == f'"operations";v="{entry["version"]}"'
    assert declares_operations(header)


@pytest.mark.requirement("OPS-2-09", "OPS-2-18")
@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("declared", [True, False])
def test_an_operation_is_returned_only_where_it_is_listed_and_declared(
    declared: bool, listed: bool, signed_out: SessionOf, jacket: Item, monkeypatch: Any
) -> None:
    signed_out.declared = declared
    for action in registry:
        monkeypatch.setattr(action, "website", listed)
    assert ("endpoint" in operations_fragment()["operations"][0]) == listed
    response = signed_out.browser().post("/buy/", ORDER)
    assert response.status_code == 403
    assert ("Poppy-Operation" in response) == (listed and declared)
    assert Operation.objects.exists() == (listed and declared)


@pytest.mark.requirement("OPS-1-09", "OPS-6-36")
def test_the_operation_is_at_the_endpoint_and_its_effect_at_the_browser(
    signed_out: SessionOf, jacket: Item, effects: Effects
) -> None:
    browser = signed_out.browser()
    refused = browser.post("/buy/", ORDER)
    ref = reference(refused)[1]
    operation = signed_out.look_up(ref)
    assert is_refused_with(signed_out.endpoint(ref), operation)
    response = signed_out.endpoint(ref, approval_of(operation))
    assert (response.status_code, response.content) == (204, b"")
    assert Approval.objects.count() == 1
    assert effects() == []
    # Nobody but a browser of the Session performs it.
    assert Client(headers={"host": HOST}).get("/buy/").status_code == 200
    assert effects() == []
