"""What operators decide in the admin: settling, voiding, revoking; and who may."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.test import Client

from poppy_operations import maintenance
from poppy_operations.lifecycle import claims, finishing
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.models import Agent, Approval, Join, Operation, Performance, Settlement
from poppy_operations.protocol import stored_answer
from poppy_operations.sessions.agents import revoke_agent
from tests.admin.operators import mark, staff, text, url
from tests.agents import ORDER, ApiClient, SessionOf, reference
from tests.asking import recorded
from tests.connections import be_atomic, in_the_way
from tests.lifecycle.rows import MINE, NOW, OTHER, begun, read, returned
from tests.shop.models import Effect, Item
from tests.shop.operations import Behaviour

pytestmark = pytest.mark.django_db
BECAUSE = {"because": "The gateway says so."}
NOT_PERFORMED = {"outcome": "not_performed", **BECAUSE}
PERFORMED = {"outcome": "performed", "status": "201", **BECAUSE}
VIEWS = ("view_operation", "view_revision", "view_approval", "view_performance", "view_settlement")


@pytest.fixture
def clock() -> Iterator[time_machine.Coordinates]:
    with time_machine.travel(NOW + timedelta(seconds=2), tick=False) as coordinates:
        yield coordinates


@pytest.fixture
def unknown(clock: Any) -> Operation:
    """An operation of which nobody knows whether its attempt took effect."""
    revision = returned()
    begun(revision, effects="external")
    assert finishing.mark_unknown(revision.operation, MINE, NOW)
    operation: Operation = read(revision.operation)
    return operation


@pytest.fixture
def settler(clock: Any) -> Client:
    return staff(*VIEWS, "settle_operation", "void_approval")


def settle(client: Client, operation: Operation, *, attempt: str = MINE, **data: Any) -> Any:
    page = url(Operation, of=operation).replace("change", "settle")
    return client.post(page, {"attempt": attempt, **data}, follow=True)


def void(client: Client, approval: Approval, **data: Any) -> Any:
    page = url(Approval, of=approval).replace("change", "void")
    return client.post(page, {**BECAUSE, **data}, follow=True)


def failing(*_args: Any) -> None:
    message = "the gateway hung up"
    raise RuntimeError(message)


# Settling, as agents meet it


def test_what_is_settled_as_performed_is_answered_as_it_was_settled(
    signed_in: SessionOf, jacket: Item, site: Behaviour, caplog: Any
) -> None:
    api = ApiClient(signed_in, "/api/transfer/")
    site.after_effect = failing
    signed_in.client.raise_request_exception = False
    operation = api.ask()
    assert api.approve(operation).status_code == 503
    row = Operation.objects.get(operation_id=operation["operation_id"])
    client = staff(*VIEWS, "settle_operation")
    page = text(client.get(url(Operation, of=row)))
    assert "outcome unknown" in page
    assert "Settle …" in page
    incident = ["Attempt begun", "Nobody knows whether it took effect"]
    assert [words for words in incident if words in page] == incident
    answer = json.dumps({"transfer_id": "tr_7"})
    done = settle(client, row, attempt=row.attempt, **PERFORMED, answer=answer)

    assert "Settled as performed." in text(done)
    again = api.approve(operation)
    assert (again.status_code, again.json()) == (201, {"transfer_id": "tr_7"})
    assert Effect.objects.count() == 1
    settlement = Settlement.objects.get()
    assert settlement.settled_by.startswith("staff")
    assert settlement.because == "The gateway says so."
    assert LogEntry.objects.get().get_change_message() == "Settled as performed."
    names = f"(operation_id {row.operation_id}, action {row.action})"
    assert f"An unknown outcome was settled in the admin. {names}" in caplog.messages
    history = text(client.get(url(Operation, of=row)))
    whats = re.findall(r'<h3><a href="[^"]+">(.+?)</a>', history)
    assert whats[2:] == [*incident, "Performed", "Outcome settled"]
    assert settlement.settled_by in history
    assert "poppy-loud" not in history
    assert "It was performed, once." in history


def test_what_is_settled_without_an_answer_is_stated_plainly(
    signed_in: SessionOf, jacket: Item, site: Behaviour
) -> None:
    api = ApiClient(signed_in, "/api/ignoring/")
    site.after_effect = failing
    signed_in.client.raise_request_exception = False
    operation = api.ask()
    api.approve(operation)
    row = Operation.objects.get(operation_id=operation["operation_id"])
    settle(staff(*VIEWS, "settle_operation"), row, attempt=row.attempt, **PERFORMED)

    again = api.approve(operation)
    stated = {"operation_id": row.operation_id, "status": "performed"}
    assert (again.status_code, again.json()) == (200, stated)


@pytest.mark.requirement("OPS-7-09")
def test_what_is_settled_as_not_performed_is_performed_by_the_same_approval(
    signed_in: SessionOf, jacket: Item, site: Behaviour
) -> None:
    browser = signed_in.browser()
    site.before_effect = failing
    browser.raise_request_exception = False
    ref, _ = recorded(signed_in, browser, "/refund/")
    assert browser.post("/refund/", ORDER).status_code == 403
    assert signed_in.status(ref) == "performing"
    row = Operation.objects.get()
    page = text(staff(*VIEWS, "settle_operation").get(_settle_page(row)))
    assert "Answer" not in page  # a browser gets a page that says it is done
    client = staff(*VIEWS, "settle_operation")
    assert "Settled as not performed." in text(
        settle(client, row, attempt=row.attempt, **NOT_PERFORMED)
    )

    assert signed_in.status(ref) == "approved"
    site.reset()
    assert browser.post("/refund/", ORDER).status_code == 302
    assert Effect.objects.count() == 1


def _settle_page(operation: Operation) -> str:
    return url(Operation, of=operation).replace("change", "settle")


def test_other_approvals_are_voided_in_the_same_commit(settler: Client, unknown: Operation) -> None:
    other = _further_approval(unknown)
    page = text(settler.get(_settle_page(unknown)))
    assert "this attempt&#x27;s approval of terms 1: Buy it." in page
    assert "approval of terms 2 by agent: Buy it." in page
    settle(settler, unknown, **NOT_PERFORMED, void=[str(other.pk)])

    mine, voided = Approval.objects.order_by("received_at")
    assert mine.voided_at is None
    assert (voided.pk, voided.voided_because) == (other.pk, "The gateway says so.")
    assert voided.voided_by == Settlement.objects.get().settled_by
    assert voided.revision.retired_at is not None


def _further_approval(operation: Operation) -> Approval:
    first = operation.revisions.get()
    revision = operation.revisions.create(
        revision="1791490000-further",
        number=2,
        terms=first.terms,
        summary="Buy it.",
        returned_at=NOW,
        expires_at=NOW + timedelta(minutes=15),
        lifetime_s=900,
    )
    return Approval.objects.create(
        operation=operation,
        revision=revision,
        approver="agent",
        received_at=NOW + timedelta(seconds=1),
    )


# What settling spares


def test_a_form_of_another_attempt_changes_nothing_and_says_so(
    settler: Client, unknown: Operation
) -> None:
    claims.release(unknown, MINE)
    begun(unknown.revisions.get(), effects="external", attempt=OTHER)
    running = text(settle(settler, unknown, **NOT_PERFORMED))
    assert "Nothing was changed." in running
    finishing.mark_unknown(unknown, OTHER, NOW)
    judged = text(settle(settler, unknown, **NOT_PERFORMED))

    assert "Nothing was changed." in judged
    assert read(unknown).attempt == OTHER
    assert not Settlement.objects.exists()
    assert not LogEntry.objects.exists()


def test_an_attempt_that_ends_while_the_form_is_sent_is_not_judged(
    settler: Client, unknown: Operation, monkeypatch: Any
) -> None:
    monkeypatch.setattr(
        "poppy_operations.maintenance.by_hand.settle", lambda *args, **kwargs: False
    )

    assert "Nothing was changed." in text(settle(settler, unknown, **NOT_PERFORMED))
    assert read(unknown).state == "performing"


def test_an_attempt_that_runs_cannot_be_settled(settler: Client, clock: Any) -> None:
    revision = returned()
    begun(revision, effects="external")
    assert "Settle …" not in text(settler.get(url(Operation, of=revision.operation)))
    assert "not in question any more" in text(settle(settler, revision.operation, **NOT_PERFORMED))
    clock.move_to(NOW + timedelta(seconds=61))
    assert "Settle …" in text(settler.get(url(Operation, of=revision.operation)))
    page = text(settler.get(_settle_page(revision.operation)))
    assert "Make sure that no process is still working on it" in page

    assert "Settled as" in text(settle(settler, revision.operation, **NOT_PERFORMED))


@pytest.mark.parametrize(
    "options", [{"effects": "database"}, {"effects": "external", "queued": True}]
)
def test_what_did_nothing_is_freed_and_not_settled(
    settler: Client, clock: Any, options: dict[str, Any]
) -> None:
    revision = returned()
    begun(revision, **options)
    clock.move_to(NOW + timedelta(hours=1))
    page = text(settler.get(url(Operation, of=revision.operation)))
    assert "opens the operation again" in page
    assert "Settle …" not in page

    assert "Nothing was changed." in text(settle(settler, revision.operation, **PERFORMED))
    assert read(revision.operation).state == "performing"


def test_a_queued_attempt_says_that_it_waits(settler: Client, clock: Any) -> None:
    revision = returned()
    begun(revision, effects="external", queued=True)

    assert "has not started it yet" in text(settler.get(url(Operation, of=revision.operation)))


def test_a_database_in_the_way_settles_nothing_and_says_so(
    settler: Client, unknown: Operation
) -> None:
    with in_the_way("poppy_operations_settlement", 2):
        page = settle(settler, unknown, **NOT_PERFORMED)

    assert "the database is locked, unreachable or read-only" in text(page)
    assert read(unknown).state == "performing"


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ({**PERFORMED, "because": " "}, "This field is required."),
        ({**PERFORMED, "outcome": ""}, "This field is required."),
        ({**PERFORMED, "outcome": "perhaps"}, "Select a valid choice."),
        ({**PERFORMED, "status": "503"}, "less than or equal to 299"),
        ({**PERFORMED, "answer": "{"}, "Enter a valid JSON."),
        ({**PERFORMED, "answer": "[1]"}, "An answer is a JSON object, in braces."),
        ({**PERFORMED, "answer": '{"a": NaN}'}, "JSON has neither infinity"),
        ({**PERFORMED, "answer": json.dumps({"a": "x" * 70_000})}, "cannot be stored"),
        ({**NOT_PERFORMED, "answer": "{}", "status": "200"}, "it has no answer"),
    ],
)
def test_a_form_that_makes_no_sense_is_shown_again(
    settler: Client, unknown: Operation, data: dict[str, str], error: str
) -> None:
    page = text(settle(settler, unknown, **{"status": "200", **data}))

    assert error in page
    assert MINE in page  # the attempt that it is about stays the same
    assert not Settlement.objects.exists()


def test_what_was_performed_needs_no_voiding(settler: Client, unknown: Operation) -> None:
    mine = Approval.objects.get()
    page = text(settle(settler, unknown, **PERFORMED, void=[str(mine.pk)]))

    assert "there is nothing to void" in page
    assert read(unknown).state == "performing"


# Voiding


@pytest.mark.ambiguity("AMB-24")
def test_amb_24_a_voided_approval_is_never_used_and_cannot_be_put_back(
    signed_in: SessionOf, jacket: Item
) -> None:
    browser = signed_in.browser()
    ref, approval = recorded(signed_in, browser)
    row = Approval.objects.get()
    client = staff(*VIEWS, "void_approval")
    page = text(client.get(url(Operation, of=row.operation)))
    assert "waits for the agent to repeat its request" in page
    assert "Void …" in page
    assert "Void …" in text(client.get(url(Approval, of=row)))
    assert "Void an unused approval" in text(client.get(_void_page(row)))
    voided = void(client, row)

    assert "The approval is void." in text(voided)
    assert "Approval of terms 1 voided" in text(voided)
    assert LogEntry.objects.get().get_change_message() == "Voided."
    resent = signed_in.endpoint(ref, approval)
    assert (resent.status_code, resent.json()["error"]) == (400, "invalid_request")
    repeated = browser.post("/buy/", ORDER)
    _, further = reference(repeated)
    assert further != ref
    assert signed_in.look_up(further)["operation_id"] == approval["operation_id"]
    assert not Effect.objects.exists()


def _void_page(approval: Approval) -> str:
    return url(Approval, of=approval).replace("change", "void")


def test_an_approval_that_is_used_or_in_use_cannot_be_voided(
    signed_in: SessionOf, jacket: Item
) -> None:
    browser = signed_in.browser()
    recorded(signed_in, browser)
    row = Approval.objects.get()
    client = staff(*VIEWS, "void_approval")
    assert browser.post("/buy/", ORDER).status_code == 302

    assert "Void …" not in text(client.get(url(Operation, of=row.operation)))
    assert "too late to void it" in text(void(client, row))
    row.refresh_from_db()
    assert row.voided_at is None


def test_an_approval_that_is_taken_while_the_form_is_sent_is_not_voided(
    settler: Client, clock: Any, monkeypatch: Any
) -> None:
    revision = returned()
    approval = begun(revision)
    claims.release(revision.operation, MINE)
    monkeypatch.setattr("poppy_operations.admin.evidence.void", lambda *args, **kwargs: False)

    assert "too late to void it" in text(void(settler, approval))


def test_an_expired_declined_or_voided_approval_needs_no_voiding(
    settler: Client, clock: Any
) -> None:
    revision = returned()
    approval = begun(revision)
    claims.release(revision.operation, MINE)
    page = url(Operation, of=revision.operation)
    assert "Void …" in text(settler.get(page))
    decline = revision.declines.create(
        operation=revision.operation, approver="user", rule="r", declined_at=NOW
    )
    assert "Void …" not in text(settler.get(page))
    decline.delete()
    clock.move_to(NOW + timedelta(minutes=16))
    assert "Void …" not in text(settler.get(page))
    assert "It was not performed." in text(settler.get(page))
    clock.move_to(NOW + timedelta(minutes=1))
    assert "The approval is void." in text(void(settler, approval))
    assert "Void …" not in text(settler.get(page))


def test_a_void_needs_a_reason_and_a_database(settler: Client, clock: Any) -> None:
    revision = returned()
    approval = begun(revision)
    claims.release(revision.operation, MINE)

    assert "This field is required." in text(void(settler, approval, because=""))
    with in_the_way('UPDATE "poppy', 2):
        assert "the database is locked, unreachable or read-only" in text(void(settler, approval))
    assert read(approval).voided_at is None


def test_whoever_may_not_see_operations_comes_back_to_the_approval(clock: Any) -> None:
    revision = returned()
    approval = begun(revision)
    claims.release(revision.operation, MINE)
    page = text(void(staff("view_approval", "void_approval"), approval))

    assert "The approval is void." in page
    assert "View approval" in page


# Revoking


def test_an_agent_is_revoked_on_its_page_and_its_browsers_are_out(
    signed_in: SessionOf, jacket: Item
) -> None:
    browser = signed_in.browser()
    agent = Agent.objects.get()
    guard = staff("view_agent", "change_agent")
    revoke = url(Agent, of=agent).replace("change", "revoke")
    assert "Revoke …" in text(guard.get(url(Agent, of=agent)))
    assert agent.client_id in text(guard.get(revoke))
    assert "The agent is revoked." in text(guard.post(revoke, follow=True))

    assert Join.objects.get().ended_because == "agent revoked"
    assert browser.get("/plain/").content == b"AnonymousUser"
    assert "Revoke …" not in text(guard.get(url(Agent, of=agent)))
    assert "It was revoked before." in text(guard.post(revoke, follow=True))
    assert LogEntry.objects.get().get_change_message() == "Revoked."


def test_a_database_in_the_way_of_revoking_is_said(
    signed_in: SessionOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    Agent.objects.create(client_id="https://another.example/client", name="Another")
    agents = list(Agent.objects.order_by("pk"))
    guard, tried = staff("view_agent", "change_agent"), []

    def every_second_time(client_id: str) -> None:
        tried.append(client_id)
        if len(tried) % 2:
            raise Busy
        revoke_agent(client_id)

    monkeypatch.setattr(maintenance, "revoke", every_second_time)
    page = text(guard.post(url(Agent, of=agents[0]).replace("change", "revoke"), follow=True))
    assert "The database is locked, unreachable or read-only" in page
    assert not Agent.objects.filter(status="revoked").exists()
    chosen = {"action": "revoke", "_selected_action": [one.pk for one in agents]}
    page = text(guard.post(url(Agent), {**chosen, "confirmed": "yes"}, follow=True))
    assert "1 Personal Agent was revoked." in page
    assert "The database is locked, unreachable or read-only" in page
    assert Agent.objects.filter(status="revoked").count() == 1


# Who may


@pytest.mark.parametrize("model", [Operation, Approval, Agent])
def test_a_decision_needs_its_own_permission_and_that_to_view(
    unknown: Operation, signed_in: SessionOf, model: Any
) -> None:
    row = model.objects.get()
    name = {Operation: "settle", Approval: "void", Agent: "revoke"}[model]
    page = url(model, of=row).replace("change", name)
    viewer = staff(*VIEWS, "view_agent")
    # Whoever may change agents may view them, by Django's own rule.
    decider = staff("settle_operation", "void_approval")

    for client in (viewer, decider):
        assert client.get(page).status_code == 403
        assert client.post(page, {**NOT_PERFORMED, "attempt": MINE}).status_code == 403
    assert " …" not in text(viewer.get(url(model, of=row)))
    assert Client().get(page).status_code == 302
    assert read(unknown).state == "performing"


@pytest.mark.parametrize("model", [Operation, Approval, Agent])
def test_an_agents_browser_decides_nothing_on_any_page(
    unknown: Operation, signed_in: SessionOf, model: Any
) -> None:
    row = model.objects.get()
    name = {Operation: "settle", Approval: "void", Agent: "revoke"}[model]
    page = url(model, of=row).replace("change", name)
    root = Client()
    root.force_login(get_user_model().objects.create_superuser("root"))
    mark(root)

    assert root.get(page).status_code == 403
    assert root.post(page, {**NOT_PERFORMED, "attempt": MINE}).status_code == 403
    shown = text(root.get(url(model, of=row)))
    assert not [word for word in ("Settle …", "Void …", "Revoke …") if word in shown]
    assert read(unknown).state == "performing"
    assert Agent.objects.get().status == "allowed"


def test_whoever_may_settle_and_not_void_is_offered_no_voiding(unknown: Operation) -> None:
    client = staff(*VIEWS, "settle_operation")

    assert 'name="void"' not in text(client.get(_settle_page(unknown)))
    assert "Settled" in text(settle(client, unknown, **NOT_PERFORMED))


def test_a_decision_about_nothing_is_not_found(settler: Client) -> None:
    assert settler.get("/admin/poppy_operations/operation/999/settle/").status_code == 404


def test_a_decision_is_sent_by_a_form_of_the_site(unknown: Operation) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(get_user_model().objects.create_superuser("root"))

    assert settle(client, unknown, **NOT_PERFORMED).status_code == 403
    assert read(unknown).state == "performing"


@pytest.mark.django_db(transaction=True)
def test_decisions_are_committed_where_requests_are_transactions(
    settler: Client, unknown: Operation, monkeypatch: Any
) -> None:
    be_atomic(monkeypatch)
    assert "Settled as not performed." in text(settle(settler, unknown, **NOT_PERFORMED))
    assert "The approval is void." in text(void(settler, Approval.objects.get()))

    assert read(unknown).state == "open"


def test_a_late_end_is_told_loudly(settler: Client, unknown: Operation) -> None:
    approval = Approval.objects.get()
    settle(settler, unknown, **NOT_PERFORMED)
    answer = stored_answer.StoredAnswer(201)
    finishing.finish_external(unknown, approval, answer, attempt=MINE, now=NOW)
    page = text(settler.get(url(Operation, of=unknown)))

    assert Performance.objects.get().how == "late"
    assert "It was performed by an attempt that had been given up." in page
    assert "Performed by an attempt that had been given up" in page
    found = settler.get(url(Operation), {"happened": "late"})
    assert unknown.operation_id in text(found)
