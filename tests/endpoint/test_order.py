"""The endpoint follows the order of the text: look-ups, approvals that come again, check 3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from poppy_operations.gate.returning import asking as returning
from poppy_operations.lifecycle import approving
from poppy_operations.maintenance import purge
from poppy_operations.models import Approval, Revision
from tests.agents import SessionOf, approval_of
from tests.asking import (
    MADE_UP_REF,
    NEVER_RETURNED,
    ORDER,
    TWO,
    answer,
    ask,
    error,
    is_refused_with,
    price,
    quiet,
    recorded,
)
from tests.clock import Clock
from tests.shop.models import Item
from tests.shop.operations import Behaviour, SoldOut

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]

# Look-ups


@pytest.mark.requirement("OPS-4-46", "OPS-6-60")
def test_looking_up_changes_nothing(signed_out: SessionOf, jacket: Item, effects: Effects) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    answers = [answer(signed_out.endpoint(ref)) for _ in range(5)]
    assert answers == [answers[0]] * 5
    assert ask(browser) == ref
    assert effects() == []
    signed_out.approve(ref)
    answers = [answer(signed_out.endpoint(ref)) for _ in range(5)]
    assert answers == [answers[0]] * 5
    assert signed_out.status(ref) == "approved"
    assert effects() == []


@pytest.mark.requirement("OPS-6-59", "OPS-6-60", "OPS-6-62")
def test_a_status_has_two_members_and_no_terms(signed_out: SessionOf, jacket: Item) -> None:
    browser = signed_out.browser()
    ref, approval = recorded(signed_out, browser)
    for status in ("approved", "performed"):
        response = signed_out.endpoint(ref)
        assert (response.status_code, response["Content-Type"]) == (200, "application/json")
        expected = {"operation_id": approval["operation_id"], "status": status}
        assert response.json() == expected
        browser.post("/buy/", ORDER)


@pytest.mark.ambiguity("AMB-10")
@pytest.mark.requirement("OPS-6-59", "OPS-6-61", "OPS-6-62")
def test_amb_10_approved_is_said_of_the_approved_revision_alone_the_rest_of_the_operation(
    signed_out: SessionOf, jacket: Item, site: Behaviour
) -> None:
    browser = signed_out.browser()
    ref, approval = recorded(signed_out, browser, "/refund/")
    price("75.00")
    later = ask(browser, "/refund/")
    assert signed_out.status(ref) == "approved"
    operation = signed_out.look_up(later)
    assert operation["operation_id"] == approval["operation_id"]
    assert operation["terms"]["total"]["amount"] == "75.00"
    price("70.00")

    meanwhile: list[str] = []
    site.before_effect = lambda _: meanwhile.extend(map(signed_out.status, (ref, later)))
    assert browser.post("/refund/", ORDER).status_code == 302
    assert meanwhile == ["performing", "performing"]
    assert [signed_out.status(ref), signed_out.status(later)] == ["performed", "performed"]


@pytest.mark.requirement("OPS-6-63", "OPS-7-03")
@pytest.mark.ambiguity("AMB-11")
def test_amb_11_performed_and_performing_come_before_expiry_and_expiry_before_approved(
    signed_out: SessionOf, jacket: Item, site: Behaviour, clock: Clock
) -> None:
    browser = signed_out.browser(quiet())
    performed, _ = recorded(signed_out, browser)
    browser.post("/buy/", ORDER)
    unused, _ = recorded(signed_out, browser, "/buy/", TWO)

    def fail(_: Any) -> None:
        raise TimeoutError

    site.before_effect = fail
    unknown, _ = recorded(signed_out, browser, "/refund/")
    browser.post("/refund/", ORDER)

    for told in ({"minutes": 15, "seconds": 1}, {"days": 1, "minutes": 14}):
        clock.at(**told)
        purge()
        assert signed_out.status(performed) == "performed"
        assert signed_out.status(unknown) == "performing"
        assert error(signed_out.endpoint(unused)) == (400, "invalid_request")
    clock.at(days=2)
    assert purge().operations == 2
    assert error(signed_out.endpoint(performed)) == (400, "invalid_request")
    assert signed_out.status(unknown) == "performing"


@pytest.mark.requirement("OPS-6-61")
@pytest.mark.ambiguity("AMB-35")
def test_amb_35_an_unknown_outcome_is_performing_for_as_long_as_nobody_knows(
    signed_out: SessionOf, jacket: Item, site: Behaviour, clock: Clock, effects: Effects
) -> None:
    def fail(_: Any) -> None:
        raise TimeoutError

    site.after_effect = fail
    browser = signed_out.browser(quiet())
    ref, approval = recorded(signed_out, browser, "/refund/")
    assert browser.post("/refund/", ORDER).status_code == 403
    for days in (0, 1, 365):
        clock.at(days=days)
        assert signed_out.status(ref) == "performing"
        assert signed_out.endpoint(ref, approval).status_code == 204
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-4-55")
def test_an_expired_reference_is_followed_by_another_one(
    signed_out: SessionOf, jacket: Item, clock: Clock
) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    first = signed_out.look_up(ref)
    clock.at(minutes=15, seconds=1)
    assert error(signed_out.endpoint(ref)) == (400, "invalid_request")
    other = ask(browser)
    assert other != ref
    operation = signed_out.look_up(other)
    assert operation["operation_id"] == first["operation_id"]
    assert operation["revision"] != first["revision"]
    assert operation["expires_at"] > first["expires_at"]


def test_a_reference_with_one_other_character_is_unknown(
    signed_out: SessionOf, jacket: Item
) -> None:
    ref = ask(signed_out.browser())
    last = "a" if ref[-1] != "a" else "b"
    for other in (ref[:-1] + last, ref.upper(), ref + "a", ref[:-1], f"{ref}."):
        assert answer(signed_out.endpoint(other)) == answer(signed_out.endpoint(MADE_UP_REF))


# Approvals that come again


@pytest.mark.requirement("OPS-6-72")
@pytest.mark.ambiguity("AMB-12")
def test_amb_12_an_approval_that_comes_again_is_recorded_once(
    signed_out: SessionOf, jacket: Item, clock: Clock, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref, approval = recorded(signed_out, browser)
    first = Approval.objects.get()
    for minute in (1, 2):
        clock.at(minutes=minute)
        response = signed_out.endpoint(ref, {**approval, "input_type": "voice"})
        assert (response.status_code, response.content) == (204, b"")
        assert signed_out.endpoint(ref, {**approval, "approver": "agent"}).status_code == 204
    again = Approval.objects.get()
    assert (again.pk, again.received_at, again.input_type) == (first.pk, first.received_at, "")
    assert browser.post("/buy/", ORDER).status_code == 302
    assert browser.post("/buy/", ORDER).status_code == 403
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-6-41", "OPS-6-42", "OPS-6-45")
@pytest.mark.ambiguity("AMB-12")
def test_amb_12_nothing_is_recorded_any_more_once_it_is_performed(
    signed_out: SessionOf, jacket: Item, clock: Clock, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref, approval = recorded(signed_out, browser)
    price("75.00")
    later = ask(browser)
    other = approval_of(signed_out.look_up(later))
    price("70.00")
    browser.post("/buy/", ORDER)
    for minutes in (0, 16):  # after the expiry, too
        clock.at(minutes=minutes)
        for again in (approval, other, {**approval, "revision": NEVER_RETURNED}):
            for sent_to in (ref, later):
                assert signed_out.endpoint(sent_to, again).status_code == 204
    assert Approval.objects.count() == 1
    price("75.00")
    assert browser.post("/buy/", ORDER).status_code == 403
    assert len(effects()) == 1


@pytest.mark.ambiguity("AMB-12")
def test_amb_12_another_revision_is_recorded_while_the_first_one_is_performing(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects
) -> None:
    browser = signed_out.browser(quiet())
    ref, approval = recorded(signed_out, browser, "/refund/")
    price("75.00")
    later = ask(browser, "/refund/")
    other = approval_of(signed_out.look_up(later))
    price("70.00")

    def meanwhile(_: Any) -> None:
        site.before_effect = lambda _: None
        assert signed_out.endpoint(ref, approval).status_code == 204
        assert signed_out.endpoint(later, other).status_code == 204
        never = {**approval, "revision": NEVER_RETURNED}
        assert signed_out.endpoint(ref, never).status_code == 204
        raise SoldOut

    site.before_effect = meanwhile
    assert browser.post("/refund/", ORDER).status_code == 500
    assert [row.revision.revision for row in Approval.objects.order_by("received_at")] == [
        approval["revision"],
        other["revision"],
    ]
    assert [signed_out.status(ref), signed_out.status(later)] == ["approved", "approved"]
    price("75.00")
    assert browser.post("/refund/", ORDER).status_code == 302
    assert len(effects()) == 1
    assert [signed_out.status(ref), signed_out.status(later)] == ["performed", "performed"]


@pytest.mark.ambiguity("AMB-12")
def test_amb_12_an_expired_revision_is_not_recorded_while_another_one_is_performing(
    signed_out: SessionOf, jacket: Item, site: Behaviour, clock: Clock
) -> None:
    browser = signed_out.browser()
    early = ask(browser, "/refund/")
    expired = approval_of(signed_out.look_up(early))
    clock.at(minutes=10)
    ref, _ = recorded(signed_out, browser, "/refund/")
    assert ref != early
    clock.at(minutes=16)
    seen: list[int] = []
    site.before_effect = lambda _: seen.append(signed_out.endpoint(early, expired).status_code)
    assert browser.post("/refund/", ORDER).status_code == 302
    assert seen == [204]
    assert Approval.objects.count() == 1


# Check 3


@pytest.mark.requirement("OPS-6-37", "OPS-6-52", "OPS-6-54", "OPS-6-69", "OPS-3-25")
def test_a_revision_that_was_never_returned_gets_the_references_operation(
    signed_out: SessionOf, jacket: Item, clock: Clock, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    operation = signed_out.look_up(ref)
    approval = {**approval_of(operation), "revision": NEVER_RETURNED}
    assert is_refused_with(signed_out.endpoint(ref, approval), operation)
    clock.at(minutes=15, seconds=1)
    assert error(signed_out.endpoint(ref, approval)) == (400, "invalid_request")
    assert not Approval.objects.exists()
    assert browser.post("/buy/", ORDER).status_code == 403
    assert effects() == []


@pytest.mark.requirement("OPS-3-07", "OPS-6-37")
def test_case_matters_in_what_an_approval_names(signed_out: SessionOf, jacket: Item) -> None:
    ref = ask(signed_out.browser())
    operation = signed_out.look_up(ref)
    approval = approval_of(operation)
    shouted = {**approval, "revision": approval["revision"].upper()}
    assert is_refused_with(signed_out.endpoint(ref, shouted), operation)
    shouted = {**approval, "operation_id": approval["operation_id"].upper()}
    assert error(signed_out.endpoint(ref, shouted)) == (400, "invalid_request")
    assert not Approval.objects.exists()


@pytest.mark.requirement("OPS-6-37", "OPS-6-48", "OPS-6-52", "OPS-6-54")
def test_the_approval_of_another_operation_gets_the_references_operation(
    signed_out: SessionOf, jacket: Item
) -> None:
    browser = signed_out.browser()
    ref, other = ask(browser), ask(browser, "/buy/", TWO)
    operation, elsewhere = signed_out.look_up(ref), signed_out.look_up(other)
    assert is_refused_with(signed_out.endpoint(ref, approval_of(elsewhere)), operation)
    foreign_revision = {**approval_of(operation), "revision": elsewhere["revision"]}
    assert is_refused_with(signed_out.endpoint(ref, foreign_revision), operation)
    assert not Approval.objects.exists()


@pytest.mark.requirement("OPS-6-48", "OPS-6-54", "OPS-6-69")
def test_a_failing_approval_gets_the_operation_even_where_that_is_approved_already(
    signed_out: SessionOf, jacket: Item
) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    operation = signed_out.look_up(ref)
    elsewhere = signed_out.look_up(ask(browser, "/buy/", TWO))
    signed_out.approve(ref)
    never = {**approval_of(operation), "revision": NEVER_RETURNED}
    for approval in (never, approval_of(elsewhere)):
        # A status would read as if this approval had been recorded.
        assert is_refused_with(signed_out.endpoint(ref, approval), operation)
    assert signed_out.status(ref) == "approved"
    assert Approval.objects.count() == 1


@pytest.mark.requirement("OPS-6-54")
def test_the_named_revision_is_never_the_answer(signed_out: SessionOf, jacket: Item) -> None:
    ref = ask(signed_out.browser())
    approval = {**approval_of(signed_out.look_up(ref)), "operation_id": "buy_never"}
    assert error(signed_out.endpoint(ref, approval)) == (400, "invalid_request")
    assert not Approval.objects.exists()


@pytest.mark.requirement("OPS-6-37", "OPS-6-54")
def test_an_expired_revision_gets_the_references_newer_one(
    signed_out: SessionOf, jacket: Item, clock: Clock
) -> None:
    browser = signed_out.browser()
    early = ask(browser)
    expired = approval_of(signed_out.look_up(early))
    clock.at(minutes=14)
    ref = ask(browser)
    operation = signed_out.look_up(ref)
    clock.at(minutes=16)
    assert is_refused_with(signed_out.endpoint(ref, expired), operation)
    assert error(signed_out.endpoint(early, expired)) == (400, "invalid_request")
    assert not Approval.objects.exists()


@pytest.mark.requirement("OPS-5-03")
@pytest.mark.ambiguity("AMB-34", "AMB-09")
def test_amb_34_amb_09_any_unexpired_revision_of_the_operation_can_be_approved(
    signed_out: SessionOf, jacket: Item, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    first = approval_of(signed_out.look_up(ref))
    price("75.00")
    later = ask(browser)
    signed_out.look_up(later)
    assert signed_out.endpoint(later, first).status_code == 204
    assert Approval.objects.get().revision.revision == first["revision"]
    assert signed_out.status(ref) == "approved"
    assert signed_out.look_up(later)["terms"]["total"]["amount"] == "75.00"
    assert browser.post("/buy/", ORDER).status_code == 403
    assert effects() == []
    price("70.00")
    assert browser.post("/buy/", ORDER).status_code == 302
    assert effects() == ["shop.buy 1 jacket"]


@pytest.mark.ambiguity("AMB-34")
def test_amb_34_of_several_revisions_the_named_one_is_recorded_at_any_reference(
    signed_out: SessionOf, jacket: Item
) -> None:
    browser = signed_out.browser()
    first = ask(browser)
    price("75.00")
    second = ask(browser)
    price("80.00")
    third = ask(browser)
    named = approval_of(signed_out.look_up(second))
    for ref in (first, third, second):
        assert signed_out.endpoint(ref, named).status_code == 204
    assert Approval.objects.get().revision.revision == named["revision"]
    assert signed_out.status(second) == "approved"
    for ref in (first, third):
        signed_out.look_up(ref)  # not approved


def test_a_revision_that_gave_way_is_unknown(signed_out: SessionOf, jacket: Item) -> None:
    ref = ask(signed_out.browser())
    approval = approval_of(signed_out.look_up(ref))
    Revision.objects.update(looked_up_at=None)
    assert returning.give_way(Revision.objects.get())
    unknown = answer(signed_out.endpoint(MADE_UP_REF))
    assert answer(signed_out.endpoint(ref)) == unknown
    assert answer(signed_out.endpoint(ref, approval)) == unknown
    assert not Approval.objects.exists()


@pytest.mark.ambiguity("AMB-24")
def test_amb_24_a_voided_approval_stays_void_and_the_browser_gets_another_revision(
    signed_out: SessionOf, jacket: Item, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref, approval = recorded(signed_out, browser)
    row = Approval.objects.get()
    assert approving.void(row, by="alice", because="changed my mind", now=timezone.now())
    assert error(signed_out.endpoint(ref)) == (400, "invalid_request")
    assert error(signed_out.endpoint(ref, approval)) == (400, "invalid_request")
    other = ask(browser)
    assert other != ref
    operation = signed_out.look_up(other)
    assert operation["operation_id"] == approval["operation_id"]
    assert operation["revision"] != approval["revision"]
    assert is_refused_with(signed_out.endpoint(other, approval), operation)
    assert effects() == []
    signed_out.approve(other)
    assert browser.post("/buy/", ORDER).status_code == 302
    assert not approving.void(
        Approval.objects.latest("received_at"), by="", because="", now=row.received_at
    )


def test_an_approval_that_was_recorded_and_voided_meanwhile_is_not_taken_for_recorded(
    signed_out: SessionOf, jacket: Item, monkeypatch: Any
) -> None:
    ref = ask(signed_out.browser())
    approval = approval_of(signed_out.look_up(ref))
    record = approving.record

    def too_late(statement: Any, revision: Any, **named: Any) -> bool:
        assert record(statement, revision, **named)
        voided = approving.void(Approval.objects.get(), by="alice", because="", now=timezone.now())
        assert voided
        return record(statement, revision, **named)

    monkeypatch.setattr(approving, "record", too_late)
    assert signed_out.endpoint(ref, approval).status_code == 400
