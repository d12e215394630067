"""Requests that meet each other: one approval is performed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpResponse

from poppy_operations.lifecycle import settling
from poppy_operations.models import Operation
from tests.agents import ORDER, SessionOf, reference
from tests.asking import ask, price, quiet, recorded
from tests.clock import Clock
from tests.shop.models import Item
from tests.shop.operations import Behaviour

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]


def time_out(_: Any) -> None:
    """The outside does not answer."""
    raise TimeoutError


@pytest.mark.requirement("OPS-6-68", "OPS-7-18", "OPS-7-19")
@pytest.mark.ambiguity("AMB-13", "AMB-10")
def test_amb_13_amb_10_a_second_request_gets_a_further_reference_of_the_same_operation(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects
) -> None:
    browser, other = signed_out.browser(), signed_out.browser()
    ref, approval = recorded(signed_out, browser, "/refund/")
    called = site.terms_called
    seen: list[Any] = []

    def meanwhile(_: Any) -> None:
        called_before = site.terms_called
        seen.extend(other.post("/refund/", ORDER) for _ in range(3))
        seen.append(other.post("/refund/", ORDER, headers={"Accept": "application/json"}))
        assert site.terms_called == called_before
        further = reference(seen[0])[1]
        assert signed_out.status(further) == "performing"
        seen.append(further)

    site.before_effect = meanwhile
    assert browser.post("/refund/", ORDER).status_code == 302
    *responses, further = seen
    assert called < site.terms_called
    assert further != ref
    assert [reference(response) for response in responses] == [("ses_1", further)] * 4
    assert "already be under way" in responses[0].content.decode()
    assert len(effects()) == 1
    assert Operation.objects.count() == 1
    assert [signed_out.status(one) for one in (ref, further)] == ["performed", "performed"]
    # Only after that does a request start a new operation.
    site.before_effect = lambda _: None
    after = signed_out.look_up(ask(browser, "/refund/"))
    assert after["operation_id"] != approval["operation_id"]


@pytest.mark.requirement("OPS-6-61", "OPS-6-68")
@pytest.mark.ambiguity("AMB-13")
def test_amb_13_so_does_every_request_while_nobody_knows_the_outcome(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects, clock: Clock
) -> None:
    site.after_effect = time_out
    browser = signed_out.browser(quiet())
    ref, approval = recorded(signed_out, browser, "/refund/")
    first = ask(browser, "/refund/")
    assert first != ref
    assert ask(browser, "/refund/") == first
    # The site may say by now that it was done; nobody asks it, and nobody says that it failed.
    site.terms_answer = lambda request: HttpResponse("refunded already", status=409)
    assert ask(browser, "/refund/") == first
    clock.at(days=2)
    later = ask(signed_out.browser(quiet()), "/refund/")
    assert later != first
    for one in (ref, first, later):
        assert signed_out.status(one) == "performing"
        assert signed_out.endpoint(one, approval).status_code == 204
    assert len(effects()) == 1
    assert Operation.objects.count() == 1


@pytest.mark.ambiguity("AMB-13")
def test_amb_13_the_further_revision_can_be_approved_once_the_first_one_came_to_nothing(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects, clock: Clock
) -> None:
    site.before_effect = time_out
    browser = signed_out.browser(quiet())
    _, approval = recorded(signed_out, browser, "/refund/")
    clock.at(minutes=10)
    further = ask(browser, "/refund/")
    operation = Operation.objects.get()
    assert settling.settle(
        operation, None, how="settled", by="op", because="the bank says no", now=clock.start
    )
    clock.at(minutes=16)  # the first approval has expired
    again = signed_out.look_up(further)
    assert again["operation_id"] == approval["operation_id"]
    assert again["revision"] != approval["revision"]
    signed_out.approve(further)
    site.before_effect = lambda _: None
    assert browser.post("/refund/", ORDER).status_code == 302
    assert len(effects()) == 1


@pytest.mark.slow
@pytest.mark.requirement("OPS-1-06", "OPS-8.2-09", "OPS-6-67")
def test_ten_requests_that_overlap_perform_an_approval_once(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects
) -> None:
    browsers = [signed_out.browser() for _ in range(10)]
    ref, approval = recorded(signed_out, browsers[0])
    for _ in range(4):
        assert signed_out.endpoint(ref, approval).status_code == 204
    waiting = browsers[1:]
    answers: list[Any] = []

    def the_next_one_comes(request: Any) -> None:
        # Every request has found the approval by now, and none has begun.
        if waiting:
            answers.append(waiting.pop().post("/buy/", ORDER))

    site.terms_answer = the_next_one_comes
    answers.append(browsers[0].post("/buy/", ORDER))
    assert len(effects()) == 1
    assert sorted(response.status_code for response in answers) == [302] + [403] * 9
    new = {reference(response)[1] for response in answers if response.status_code == 403}
    assert len(new) == 1
    assert signed_out.look_up(new.pop())["operation_id"] != approval["operation_id"]
    assert signed_out.status(ref) == "performed"


@pytest.mark.requirement("OPS-6-58", "OPS-6-65")
@pytest.mark.ambiguity("AMB-14")
def test_amb_14_a_claim_that_another_request_has_is_followed_by_the_next_approval(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects, clock: Clock
) -> None:
    browser, other = signed_out.browser(), signed_out.browser()
    first, second = ask(browser, "/each/"), ask(browser, "/each/")
    for seconds, ref in enumerate((first, second)):
        clock.at(seconds=seconds)
        signed_out.approve(ref)

    def the_other_one_is_faster(request: Any) -> None:
        site.terms_answer = lambda request: None
        assert other.post("/each/", ORDER).status_code == 302
        assert [signed_out.status(ref) for ref in (first, second)] == ["performed", "approved"]

    site.terms_answer = the_other_one_is_faster
    assert browser.post("/each/", ORDER).status_code == 302
    assert [signed_out.status(ref) for ref in (first, second)] == ["performed", "performed"]
    assert len(effects()) == 2


@pytest.mark.requirement("OPS-3-26", "OPS-6-66", "OPS-1-06")
@pytest.mark.ambiguity("AMB-14")
@pytest.mark.parametrize("when", ["meanwhile", "after"])
def test_amb_14_two_approved_revisions_of_one_operation_are_performed_once(
    when: str, signed_in: SessionOf, jacket: Item, site: Behaviour, effects: Effects
) -> None:
    browser, other = signed_in.browser(), signed_in.browser()
    first, _ = recorded(signed_in, browser, "/refund/")
    price("75.00")
    second, approval = recorded(signed_in, browser, "/refund/")
    assert [signed_in.status(ref) for ref in (first, second)] == ["approved", "approved"]
    answers: list[Any] = []

    def the_other_one(_: Any) -> None:
        site.before_effect = lambda _: None
        price("70.00")
        answers.append(other.post("/refund/", ORDER))

    if when == "meanwhile":
        site.before_effect = the_other_one
        assert browser.post("/refund/", ORDER).status_code == 302
    else:
        assert browser.post("/refund/", ORDER).status_code == 302
        the_other_one(None)
    assert answers[0].status_code == 403
    assert effects() == ["shop.refund 1 jacket"]
    assert [signed_in.status(ref) for ref in (first, second)] == ["performed", "performed"]
    refused = reference(answers[0])[1]
    if when == "meanwhile":
        assert signed_in.status(refused) == "performed"
    else:
        assert signed_in.look_up(refused)["operation_id"] != approval["operation_id"]
