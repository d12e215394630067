"""Every row of "What survives what" is a test; here is which, and those that have no other home."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.core.cache import cache
from django.template.response import SimpleTemplateResponse
from django.test import Client
from django.utils import timezone

from poppy_operations.background import perform_attempt
from poppy_operations.conf import conf
from poppy_operations.declarations.registry import registry
from poppy_operations.maintenance import reconcile, requeue, stuck
from poppy_operations.models import Operation
from tests.agents import HOST, SessionOf, reference
from tests.docs.pages import DOCS
from tests.shop import operations as declared
from tests.shop.models import Item
from tests.shop.operations import Behaviour, happen
from tests.source import ROOT

pytestmark = pytest.mark.django_db
PAGE = DOCS / "explanation" / "what-survives-what.md"
ORDER = {"sku": "jacket", "quantity": "1"}
# By the first cell of a row: the tests that show it.
SHOWN_BY = {
    # How a run ends
    "answers below 400": ["test_a_response_below_400_is_performed"],
    "answers with a redirect to the login page": [
        "test_in_the_database_another_response_is_rolled_back_released_and_sent",
        "test_amb_15_outside_another_response_is_unknown_and_answered_as_performing",
    ],
    "answers with 400 or more": [
        "test_in_the_database_another_response_is_rolled_back_released_and_sent",
        "test_amb_15_outside_another_response_is_unknown_and_answered_as_performing",
    ],
    "raises `NotPerformed`": [
        "test_amb_15_not_performed_with_any_status_leaves_the_approval_usable"
    ],
    "raises an exception that the action lists": [
        "test_amb_15_an_exception_that_the_action_lists_passes_and_releases",
        "test_in_the_database_an_exception_is_rolled_back_released_and_passes_unchanged",
    ],
    "raises anything else": [
        "test_in_the_database_an_exception_is_rolled_back_released_and_passes_unchanged",
        "test_amb_15_outside_an_exception_is_unknown_reported_and_answered_as_performing",
    ],
    "is cancelled": ["test_cancelled_while_the_body_waits_it_ends_as_that"],
    "marks the transaction for rollback, and answers below 400": [
        "test_in_the_database_a_success_from_a_transaction_marked_for_rollback_is_an_error"
    ],
    "gives an answer that cannot be rendered, at an API": [
        "test_in_the_database_an_answer_that_cannot_be_rendered_is_rolled_back",
        "test_outside_an_answer_that_cannot_be_rendered_is_performed_and_plainly_said",
        "test_a_rendering_error_undoes_the_action",
    ],
    "gives an answer that cannot be rendered, on the website": [
        "test_a_page_that_django_cannot_render_after_the_gate_is_of_a_performed_operation"
    ],
    # When a process is killed
    "before the claim": ["test_a_request_that_is_killed_has_its_effect_once"],
    "between claim and view": ["test_a_request_that_is_killed_has_its_effect_once"],
    "in the view": ["test_a_request_that_is_killed_has_its_effect_once"],
    "after the record, before the answer is sent": [
        "test_a_request_that_is_killed_has_its_effect_once"
    ],
    "a worker, before it starts the attempt": [
        "test_a_worker_that_is_killed_has_its_effect_once",
        "test_a_lost_message_is_sent_again_and_then_given_up",
    ],
    # When requests overlap
    "the same approval, many times": [
        "test_ten_requests_that_overlap_perform_an_approval_once",
        "test_twelve_requests_of_an_api_with_one_approval_have_one_effect",
    ],
    "two approved revisions of one operation": [
        "test_amb_14_two_approved_revisions_of_one_operation_are_performed_once"
    ],
    "a repeat while the action runs": ["test_ten_requests_that_overlap_perform_an_approval_once"],
    "an approval, and its decline": [
        "test_an_approval_that_is_declined_while_it_is_recorded_is_not_performed",
        "test_an_approval_that_is_performed_while_it_is_declined_counts_as_taken",
    ],
    "a view that outlives its lease, and the attempt that took over": [
        "test_a_late_finish_in_the_database_is_rolled_back_and_answers_for_the_other_one"
    ],
    "a view that outlives its lease, with effects outside": [
        "test_free_spares_an_external_attempt_that_a_worker_has_started",
    ],
    "the same, after somebody found that it was not performed": [
        "test_outside_a_finish_after_the_attempt_was_given_up_is_recorded_loudly"
    ],
    "the second of two deliveries of a task": [
        "test_start_of_a_message_that_came_twice_finds_it_started"
    ],
    # When something cannot be reached
    "the database, at the claim": [
        "test_a_begin_that_the_database_prevents_is_lost_and_nothing_has_run"
    ],
    "the database, while performing": [
        "test_a_connection_lost_in_the_body_is_rolled_back_released_and_passes",
        "test_a_finish_that_the_database_prevents_is_busy_and_nothing_was_performed",
    ],
    "the database, after an effect outside": [
        "test_outside_what_cannot_be_recorded_is_loud_and_the_answer_is_sent_all_the_same"
    ],
    "the database, during a commit": [
        "test_a_commit_whose_answer_was_lost_was_performed",
        "test_a_connection_lost_at_the_commit_is_rolled_back_released_and_busy",
    ],
    "the queue": ["test_a_queue_that_is_down_loses_nothing_and_does_nothing"],
    "the agent's keys": ["test_keys_that_cannot_be_loaded_are_not_an_invalid_session"],
    "the cache": ["test_nothing_depends_on_a_cache"],
    # When the site changes
    "a price, before the approval is used": [
        "test_a_price_that_changed_needs_a_new_approval_of_the_same_operation"
    ],
    "a price, between the checks and the run": [
        "test_a_price_that_changes_between_the_checks_and_the_run_performs_nothing"
    ],
    "the code no longer declares the action": [
        "test_an_action_that_is_gone_is_listed_and_its_attempt_stays"
    ],
    "`effects` of an action, while an attempt is unknown": [
        "test_an_attempt_keeps_the_effects_that_it_began_with"
    ],
    "`SECRET_KEY`, with the old one in `SECRET_KEY_FALLBACKS`": [
        "test_a_new_key_performs_nothing_twice",
        "test_a_new_key_leaves_a_join_its_login",
    ],
    "`SECRET_KEY`, without": ["test_a_new_key_performs_nothing_twice"],
    "an agent is revoked, while an attempt waits for a worker": [
        "test_what_waits_for_a_worker_is_not_performed_for_a_revoked_agent",
        "test_what_waits_for_a_revoked_agent_is_not_enqueued_again",
    ],
    "an account is deleted": ["test_a_deleted_account_leaves_its_operations"],
}


def test_every_row_is_shown_by_a_test_and_every_test_exists() -> None:
    text = PAGE.read_text("utf-8")
    rows = re.findall(r"^\| (?!---)(.+?) \|", text, flags=re.M)
    headers = re.findall(r"^\| (.+?) \|.*\n\| ---", text, flags=re.M)
    assert [row for row in rows if row not in headers] == list(SHOWN_BY)
    files = (ROOT / "tests").rglob("test_*.py")
    defined = set(re.findall(r"def (test_\w+)\(", "\n".join(file.read_text() for file in files)))
    assert not {name for names in SHOWN_BY.values() for name in names} - defined


@pytest.fixture
def browser(signed_in: SessionOf, jacket: Item) -> Client:
    """A browser that wants a jacket; what goes wrong behind it is not raised."""
    return signed_in.browser(Client(headers={"host": HOST}, raise_request_exception=False))


def approved(browser: Client, agent: SessionOf, url: str = "/buy/") -> str:
    """Ask and approve; gives the reference."""
    _, ref = reference(browser.post(url, ORDER))
    agent.approve(ref)
    return ref


@pytest.mark.parametrize("url", ["/buy/", "/refund/"])
def test_a_page_that_django_cannot_render_after_the_gate_is_of_a_performed_operation(
    browser: Client, signed_in: SessionOf, site: Behaviour, effects: Any, url: str
) -> None:
    ref = approved(browser, signed_in, url)
    site.answer = lambda operation: SimpleTemplateResponse("no/such.html")
    assert browser.post(url, ORDER).status_code == 500
    assert (len(effects()), signed_in.status(ref)) == (1, "performed")


@pytest.fixture
def queue(settings: Any, monkeypatch: Any) -> list[tuple[str, str]]:
    """What was handed to the queue of an action in the background."""
    sent: list[tuple[str, str]] = []
    monkeypatch.setattr(declared, "queue", lambda *message: sent.append(message), raising=False)
    path = "tests.shop.operations.queue"
    settings.POPPY_OPERATIONS = {**settings.POPPY_OPERATIONS, "QUEUE": path}
    monkeypatch.setattr(declared.refund, "background", True)
    monkeypatch.setattr(declared.refund, "perform", happen)
    return sent


def test_a_queue_that_is_down_loses_nothing_and_does_nothing(
    browser: Client, signed_in: SessionOf, queue: Any, effects: Any, monkeypatch: Any
) -> None:
    ref = approved(browser, signed_in, "/refund/")

    def down(*message: str) -> None:
        raise ConnectionError

    with monkeypatch.context() as broken:
        broken.setattr(declared, "queue", down)
        assert browser.post("/refund/", ORDER).status_code == 503
    assert (effects(), signed_in.status(ref)) == ([], "approved")
    browser.post("/refund/", ORDER)
    assert perform_attempt(*queue[0])
    assert (len(effects()), signed_in.status(ref)) == (1, "performed")


def test_a_lost_message_is_sent_again_and_then_given_up(
    browser: Client, signed_in: SessionOf, queue: Any, effects: Any
) -> None:
    ref = approved(browser, signed_in, "/refund/")
    browser.post("/refund/", ORDER)
    lost = queue.pop()
    assert requeue() == 0
    with time_machine.travel(timezone.now() + timedelta(minutes=5)):
        assert requeue() == 1
        assert queue == [lost]
    with time_machine.travel(timezone.now() + conf.queue_lease + timedelta(seconds=2)):
        assert requeue() == 0
        assert reconcile().freed == 1
        assert not perform_attempt(*lost)
    assert effects() == []
    assert signed_in.status(ref) == "approved"


def test_nothing_depends_on_a_cache(browser: Client, signed_in: SessionOf, effects: Any) -> None:
    cache.clear()
    ref = approved(browser, signed_in)
    cache.clear()
    assert browser.post("/buy/", ORDER).status_code == 302
    cache.clear()
    assert browser.post("/buy/", ORDER).status_code == 403
    assert (len(effects()), signed_in.status(ref)) == (1, "performed")


def unknown(browser: Client, agent: SessionOf, site: Behaviour) -> str:
    """An external attempt that nobody knows the end of; gives its reference."""

    def lose(operation: Any) -> None:
        raise TimeoutError

    ref = approved(browser, agent, "/refund/")
    site.after_effect = lose
    browser.post("/refund/", ORDER)
    return ref


def test_an_action_that_is_gone_is_listed_and_its_attempt_stays(
    browser: Client, signed_in: SessionOf, site: Behaviour
) -> None:
    ref = unknown(browser, signed_in, site)
    registry.discard(declared.refund)
    try:
        assert [item.why for item in stuck()] == ["action gone"]
        assert reconcile().still_unknown == 1
    finally:
        registry.add(declared.refund)
    assert signed_in.status(ref) == "performing"


def test_an_attempt_keeps_the_effects_that_it_began_with(
    browser: Client, signed_in: SessionOf, site: Behaviour, effects: Any, monkeypatch: Any
) -> None:
    ref = unknown(browser, signed_in, site)
    monkeypatch.setattr(declared.refund, "effects", "database")
    with time_machine.travel(timezone.now() + timedelta(minutes=14)):
        assert browser.post("/refund/", ORDER).status_code == 403
        assert reconcile().freed == 0
        assert signed_in.status(ref) == "performing"
    assert len(effects()) == 1


@pytest.mark.parametrize("keeps", [True, False])
def test_a_new_key_performs_nothing_twice(
    browser: Client, signed_in: SessionOf, effects: Any, settings: Any, keeps: bool
) -> None:
    approved(browser, signed_in)
    replace_key(settings, keeps=keeps)
    rejoined = signed_in.browser()
    again = rejoined.post("/buy/", ORDER)
    assert again.status_code == (302 if keeps else 403)
    if not keeps:
        signed_in.approve(reference(again)[1])
        assert rejoined.post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 1


def test_a_new_key_leaves_a_join_its_login(
    browser: Client, signed_in: SessionOf, settings: Any
) -> None:
    joined = signed_in.browser()
    replace_key(settings, keeps=True)
    for _ in range(2):  # Django changes the session's key the first time
        assert joined.get("/plain/").content == b"alice"
    assert joined.post("/buy/", ORDER).status_code == 403


def replace_key(settings: Any, *, keeps: bool) -> None:
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY] if keeps else []
    settings.SECRET_KEY = "another"


def test_a_deleted_account_leaves_its_operations(
    browser: Client, signed_in: SessionOf, alice: Any
) -> None:
    ref = approved(browser, signed_in)
    browser.post("/buy/", ORDER)
    account = str(alice.pk)
    alice.delete()
    assert Operation.objects.get().account == account
    assert SessionOf(signed_in.agent, signed_in.issuer).endpoint(ref).status_code == 401
