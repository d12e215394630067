"""Requests that find an attempt under way which has ended when they look again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from poppy_operations.gate import decision, revisions
from poppy_operations.lifecycle import asking, claims, finishing
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.models import Approval, Operation
from poppy_operations.protocol.ids import new_attempt
from poppy_operations.protocol.stored_answer import StoredAnswer
from tests.agents import ORDER, SessionOf, reference
from tests.asking import ask, price, quiet, recorded
from tests.shop.models import Item
from tests.shop.operations import Behaviour

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]
REDIRECT = StoredAnswer(302, [("Location", "/done/")])


def begun(now: Any) -> tuple[Operation, Approval, str]:
    """Begin the one operation, as another request does."""
    operation, approval, attempt = Operation.objects.get(), Approval.objects.get(), new_attempt()
    assert claims.begin(
        operation, approval, attempt=attempt, effects="external", lease_s=60, now=now
    )
    return operation, approval, attempt


@pytest.mark.requirement("OPS-7-18")
@pytest.mark.ambiguity("AMB-13")
@pytest.mark.parametrize("end", ["performed", "released"])
def test_amb_13_a_repeat_that_finds_the_attempt_over_gets_what_one_after_it_gets(
    end: str,
    signed_out: SessionOf,
    jacket: Item,
    clock: Any,
    effects: Effects,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    browser = signed_out.browser()
    _, approval = recorded(signed_out, browser, "/refund/")
    operation, row, attempt = begun(clock.start)
    real = asking.return_revision

    def it_ends(*arguments: Any) -> Any:
        monkeypatch.setattr(asking, "return_revision", real)
        if end == "performed":
            finishing.finish_external(operation, row, REDIRECT, attempt=attempt, now=clock.start)
        else:
            assert claims.release(operation, attempt)

    monkeypatch.setattr(asking, "return_revision", it_ends)
    response = browser.post("/refund/", ORDER)
    if end == "performed":
        assert response.status_code == 403
        new = signed_out.look_up(reference(response)[1])
        assert new["operation_id"] != approval["operation_id"]
        assert effects() == []
    else:
        assert response.status_code == 302
        assert len(effects()) == 1


@pytest.mark.ambiguity("AMB-13")
def test_amb_13_a_repeat_does_not_give_up_where_further_revisions_collide(
    signed_out: SessionOf, jacket: Item, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = signed_out.browser()
    _, approval = recorded(signed_out, browser, "/refund/")
    begun(clock.start)
    real, collisions = asking.return_revision, iter(range(20))

    def collides(*arguments: Any) -> Any:
        if next(collisions, None) is None:
            return real(*arguments)
        operation = Operation.objects.get()
        operation.revision_count += 1
        return operation.save()

    monkeypatch.setattr(asking, "return_revision", collides)
    ref = ask(browser, "/refund/")
    assert Operation.objects.get(revisions__ref=ref).operation_id == approval["operation_id"]


def test_an_ask_does_not_give_up_where_further_revisions_collide(
    signed_out: SessionOf, jacket: Item, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = signed_out.browser()
    ask(browser, "/buy/", {**ORDER, "quantity": "1"})
    price("75.00")
    real, collisions = asking.return_revision, iter(range(20))
    monkeypatch.setattr(
        asking,
        "return_revision",
        lambda *arguments: None if next(collisions, None) is not None else real(*arguments),
    )
    assert ask(browser)
    assert Operation.objects.count() == 1


def lost_begins(monkeypatch: pytest.MonkeyPatch, times: int, answer: Any) -> list[int]:
    """Let claims be lost, to another request (``False``) or to the database (``Busy``)."""
    real, left, made = claims.begin, iter(range(times)), []

    def begin(*arguments: Any, **named: Any) -> bool:
        made.append(1)
        if next(left, None) is None:
            return real(*arguments, **named)
        if answer is Busy:
            raise Busy
        return False

    monkeypatch.setattr(claims, "begin", begin)
    return made


def test_a_claim_that_others_win_again_and_again_is_tried_as_long_as_they_do(
    signed_out: SessionOf, jacket: Item, effects: Effects, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = signed_out.browser()
    recorded(signed_out, browser)
    lost_begins(monkeypatch, 20, answer=False)
    assert browser.post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 1


def test_a_claim_that_the_database_prevents_is_given_up_soon(
    signed_out: SessionOf, jacket: Item, effects: Effects, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = signed_out.browser()
    ref, _ = recorded(signed_out, browser)
    made = lost_begins(monkeypatch, 20, answer=Busy)
    response = browser.post("/buy/", ORDER)
    assert (response.status_code, response["Retry-After"]) == (503, "1")
    assert len(made) == decision.TRIES
    assert effects() == []
    assert signed_out.status(ref) == "approved"


def is_performed(operation: Operation) -> None:
    approval, attempt = Approval.objects.get(), operation.attempt
    finishing.finish_external(operation, approval, REDIRECT, attempt=attempt, now=timezone.now())


ENDINGS: dict[str, Callable[[Operation], Any]] = {
    "performed": is_performed,
    "while asking": is_performed,
    "released": lambda operation: claims.release(operation, operation.attempt),
    "gone": lambda operation: operation.delete(),
}


@pytest.mark.parametrize("known", list(ENDINGS))
def test_an_attempt_whose_end_was_not_known_is_answered_by_what_is_known_by_now(
    known: str,
    signed_out: SessionOf,
    jacket: Item,
    site: Behaviour,
    effects: Effects,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(_operation: Any) -> None:
        site.before_effect = lambda _: None
        message = "the line was cut"
        raise ConnectionError(message)

    browser = signed_out.browser(quiet())
    recorded(signed_out, browser, "/refund/")
    site.before_effect = fails
    real, ends = revisions.live_revisions, iter([ENDINGS[known]])

    def ends_meanwhile(*arguments: Any) -> Any:
        operation = Operation.objects.get()
        if operation.state == "performing":
            next(ends)(operation)
        return None if known == "while asking" else real(*arguments)

    if known == "while asking":
        monkeypatch.setattr(asking, "return_revision", ends_meanwhile)
    else:
        monkeypatch.setattr(decision, "live_revisions", ends_meanwhile)
    response = browser.post("/refund/", ORDER)
    if ENDINGS[known] is is_performed:
        assert (response.status_code, response["Location"]) == (302, "/done/")
    else:
        assert response.status_code == 503
