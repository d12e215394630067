"""The admin: what operators see, what nobody sees, and the one decision that is made there."""

from __future__ import annotations

import copy
import json
import re
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.db import DEFAULT_DB_ALIAS, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from poppy_operations import Action
from poppy_operations.admin.filters import HAPPENINGS, STANDINGS
from poppy_operations.admin.history import MOST, moment
from poppy_operations.declarations.registry import registry
from poppy_operations.maintenance import stuck
from poppy_operations.models import (
    Agent,
    Approval,
    Decline,
    Join,
    Operation,
    Performance,
    Revision,
    Settlement,
)
from poppy_operations.testing.agents import PersonalAgent
from tests.admin.operators import (
    MODELS,
    NOW,
    SECRET,
    Told,
    listed_ids,
    mark,
    numbers,
    staff,
    tell,
    text,
    url,
)
from tests.agents import ApiClient, SessionOf
from tests.configuring import configure
from tests.shop.models import Item

pytestmark = pytest.mark.django_db


@pytest.fixture
def listed() -> Agent:
    keys = {"keys": [{"kid": "k1", "kty": "EC", "x": SECRET}]}
    return Agent.objects.create(
        client_id="https://agent.example/client", name="Agent", jwks=json.dumps(keys)
    )


@pytest.fixture
def told(listed: Agent) -> Told:
    return tell(listed)


@pytest.fixture
def operator() -> Client:
    """May view everything, and change nothing."""
    return staff(*(f"view_{model.__name__.lower()}" for model in MODELS))


@pytest.fixture
def guard() -> Client:
    """May view and revoke agents."""
    return staff("view_agent", "change_agent")


# What is there, and what is not


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_model_has_a_list_and_pages_for_whoever_may_view_it(
    operator: Client, told: Told, model: Any
) -> None:
    row = model.objects.get()

    assert str(row.pk) in text(operator.get(url(model)))
    page = text(operator.get(url(model, of=row)))
    assert 'name="_save"' not in page
    assert "deletelink" not in page


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_secrets_and_stored_answers_are_nowhere(operator: Client, told: Told, model: Any) -> None:
    row = model.objects.get()

    assert SECRET not in text(operator.get(url(model)))
    assert SECRET not in text(operator.get(url(model, of=row)))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_without_its_permission_a_model_is_not_shown(told: Told, model: Any) -> None:
    name = model.__name__.lower()
    client = staff(*(f"view_{one.__name__.lower()}" for one in MODELS if one is not model))

    assert client.get(url(model)).status_code == 403
    assert client.get(url(model, of=model.objects.get())).status_code == 403
    assert f"/admin/poppy_operations/{name}/" not in text(client.get("/admin/"))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_nobody_adds_changes_or_deletes_not_even_a_superuser(
    admin_client: Client, told: Told, model: Any
) -> None:
    row = model.objects.get()
    before = list(model.objects.values())
    page = url(model, of=row)
    delete = {"action": "delete_selected", "_selected_action": row.pk, "post": "yes"}

    assert admin_client.get(f"{url(model)}add/").status_code == 403
    assert admin_client.post(f"{url(model)}add/", {}).status_code == 403
    assert admin_client.post(page, {"_save": "1", "state": "open"}).status_code == 403
    assert admin_client.post(page.replace("change", "delete"), {"post": "yes"}).status_code == 403
    assert admin_client.post(url(model), delete).status_code in {200, 302}
    assert list(model.objects.values()) == before


LONG = (
    "terms",
    "content_fields",
    "summary",
    "headers",
    "body",
    "jwks",
    "because",
    "return_to",
    "refusal",
)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_list_reads_no_terms_answers_or_keys(operator: Client, told: Told, model: Any) -> None:
    with CaptureQueriesContext(connection) as queries:
        text(operator.get(url(model)))
    table = f'FROM "{model._meta.db_table}"'
    of_the_list = [query["sql"] for query in queries if table in query["sql"]]
    assert of_the_list
    for column in LONG:
        assert not any(f'"{column}"' in sql for sql in of_the_list), column


@pytest.mark.slow
def test_every_list_and_filter_costs_the_same_for_ten_and_ten_thousand_rows(
    operator: Client, listed: Agent
) -> None:
    pages: list[tuple[Any, dict[str, str]]] = [(model, {}) for model in MODELS]
    pages += [(Operation, {"standing": name}) for name in STANDINGS]
    pages += [(Operation, {"happened": name}) for name in HAPPENINGS]
    pages += [(Operation, {"q": "op_1"}), (Revision, {"approvable": "yes"})]

    def costs() -> list[int]:
        found = []
        for model, parameters in pages:
            with CaptureQueriesContext(connection) as queries:
                text(operator.get(url(model), parameters))
            found.append(len(queries))
        return found

    multiply(tell(listed), 9)
    costs()  # Django looks up its content types once for each process.
    before = costs()
    multiply(tell(listed), 10_000)

    assert costs() == before
    assert max(before) <= 10


def multiply(told: Told, times: int) -> None:
    """Store the same rows again and again, each with keys of its own; of the rarer kinds fewer."""
    operations, revisions = copies(told.operation, times), copies(told.revision, times)
    for operation, revision in zip(operations, revisions, strict=True):
        operation.operation_id = operation.slot = f"op_{next(numbers)}"
        revision.revision = f"rev-{next(numbers)}"
        revision.ref = revision.watch = None
    stored(operations)
    for operation, revision in zip(operations, revisions, strict=True):
        revision.operation = operation
    stored(revisions)
    few = min(times, 500)
    for model, number in ((Approval, times), (Decline, few), (Settlement, few), (Performance, few)):
        rows = copies(model.objects.get(operation=told.operation), number)
        for row, revision in zip(rows, revisions, strict=False):
            row.operation, row.revision = revision.operation, revision
        stored(rows)
    agents, joins = copies(told.join.agent, few), copies(told.join, few)
    for agent, join in zip(agents, joins, strict=True):
        agent.client_id = f"https://{next(numbers)}.example/client"
        join.ticket_digest = str(next(numbers))
    stored(agents)
    stored(joins)


def copies(row: Any, times: int) -> list[Any]:
    found = [copy.copy(row) for _ in range(times)]
    for one in found:
        one.pk = uuid.uuid4() if isinstance(row, Approval) else None
        one._state.adding = True
    return found


def stored(rows: list[Any]) -> None:
    type(rows[0]).objects.bulk_create(rows, batch_size=500)


def another_agent() -> Agent:
    return Agent.objects.create(client_id=f"https://agent{next(numbers)}.example/client")


def test_a_page_costs_the_same_whatever_happened(operator: Client, told: Told) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            text(operator.get(url(Operation, of=told.operation)))
        return len(queries)

    cost()
    before = cost()
    for _ in range(30):
        revise(told)

    assert cost() == before


def revise(told: Told) -> Revision:
    n = next(numbers)
    revision = Revision.objects.get(pk=told.revision.pk)
    revision.pk, revision.revision, revision.number = None, f"rev-{n}", n + 1000
    revision.ref = revision.watch = None
    revision.save()
    Approval.objects.create(
        operation=told.operation, revision=revision, approver="agent", received_at=NOW
    )
    return revision


# Finding


def test_lists_are_searched_by_whole_ids(operator: Client, listed: Agent, told: Told) -> None:
    other = tell(another_agent(), account="8")
    mine = told.operation.operation_id
    asked = [
        mine,
        f" {told.revision.revision} ",
        told.approval.reference,
        listed.client_id,
        "7",
    ]

    for term in asked:
        found = listed_ids(operator.get(url(Operation), {"q": term}))
        assert found == {mine}, term
    assert not listed_ids(operator.get(url(Operation), {"q": "nobody"}))
    assert other.operation.operation_id in listed_ids(operator.get(url(Operation), {"q": " "}))


@pytest.mark.parametrize("model", [Revision, Approval, Decline, Performance, Settlement])
def test_what_belongs_to_an_operation_is_found_like_it(
    operator: Client, listed: Agent, told: Told, model: Any
) -> None:
    tell(listed)

    for term in (told.operation.operation_id, told.revision.revision, told.approval.reference):
        assert listed_ids(operator.get(url(model), {"q": term})) == {told.operation.operation_id}


def test_a_search_asks_indexed_columns_one_at_a_time(operator: Client, told: Told) -> None:
    with CaptureQueriesContext(connection) as queries:
        operator.get(url(Revision), {"q": told.operation.operation_id})
    asked = [one["sql"] for one in queries if told.operation.operation_id in one["sql"]]

    assert len(asked) == 3
    assert not [sql for sql in asked if re.search("JOIN|LIKE|UPPER", sql)]


@pytest.mark.parametrize(
    ("model", "column"),
    [
        (Operation, "operation_id"),
        (Operation, "client_id"),
        (Operation, "account"),
        (Operation, "state"),
        (Operation, "created_at"),
        (Revision, "revision"),
        (Revision, "expires_at"),
        (Approval, "reference"),
    ],
)
def test_what_is_looked_for_has_an_index(model: Any, column: str) -> None:
    constraints = connection.introspection.get_constraints(
        connection.cursor(), model._meta.db_table
    )

    assert [
        one for one in constraints.values() if one["index"] and one["columns"][0] == column
    ] or [one for one in constraints.values() if one["unique"] and one["columns"] == [column]]


@pytest.mark.requirement("OPS-8.1-08")
def test_a_performed_operation_is_found_by_the_agents_reference_with_all_that_was_stated(
    operator: Client, told: Told
) -> None:
    tell(another_agent())
    parameters = {"q": told.approval.reference, "agent": told.operation.client_id}
    assert listed_ids(operator.get(url(Operation), parameters)) == {told.operation.operation_id}

    page = text(operator.get(url(Operation, of=told.operation)))
    stated = ("<dd>user</dd>", "<dd>2026-10-08T", "<dd>voice</dd>")
    owner = (told.operation.client_id, "u1", ">7<")
    times = ("Oct. 8, 2026, noon", "Oct. 8, 2026, 12:01 p.m.", "Oct. 8, 2026, 12:03 p.m.")
    for value in (*stated, told.approval.reference, *owner, "70.00", *times):
        assert value in page, value


def test_joins_and_agents_are_found_by_client_id(operator: Client, told: Told) -> None:
    tell(another_agent())

    assert told.join.sid in text(operator.get(url(Join), {"q": told.join.agent.client_id}))
    assert "0 browser joins" in text(operator.get(url(Join), {"q": "https://nobody.example"}))
    assert "1 Personal Agent" in text(operator.get(url(Agent), {"q": "agent.example"}))


OVER, ALIVE = NOW - timedelta(minutes=1), NOW + timedelta(minutes=1)


@pytest.mark.parametrize(
    ("standing", "fields"),
    [
        ("open", {"state": "open"}),
        ("performing", {"lease_until": ALIVE}),
        ("performing", {"lease_until": ALIVE, "started_at": None}),
        ("performing", {"lease_until": None}),
        ("lapsed", {"lease_until": OVER, "effects": "database"}),
        ("lapsed", {"lease_until": OVER, "started_at": None}),
        # Its process was killed, and nobody has noted that yet.
        ("unknown", {"lease_until": OVER}),
        ("unknown", {"lease_until": OVER, "outcome_unknown_since": NOW}),
        ("unknown", {"lease_until": ALIVE, "outcome_unknown_since": NOW}),
        ("performed", {"state": "performed", "outcome_unknown_since": NOW}),
    ],
)
def test_an_operation_has_one_standing_and_is_unknown_as_soon_as_it_can_be_settled(
    listed: Agent, operator: Client, standing: str, fields: dict[str, Any]
) -> None:
    labels = {"lapsed": "lease over", "unknown": "outcome unknown"}
    ordinary = {"state": "performing", "effects": "external", "started_at": NOW}
    with time_machine.travel(NOW, tick=False):
        operator.force_login(get_user_model().objects.get(username__startswith="staff"))
        mine = tell(listed, **{**ordinary, **fields}).operation
        found = {
            name
            for name in STANDINGS
            if listed_ids(operator.get(url(Operation), {"standing": name}))
        }
        assert found == {standing}
        page = text(operator.get(url(Operation, of=mine)))
        assert f'poppy-{standing}">{labels.get(standing, standing)}</span>' in page
        assert ("Nobody knows whether the last attempt" in page) is (standing == "unknown")
        assert (mine.operation_id in {item.operation_id for item in stuck()}) is (
            standing in {"lapsed", "unknown"}
        )


@pytest.mark.parametrize(
    ("parameters", "is_found"),
    [
        ({"interface__exact": "website"}, True),
        ({"interface__exact": "api"}, False),
        ({"of_action": "shop.buy"}, True),
        ({"of_action": "shop.refund"}, False),
        ({"agent": "https://agent.example/client"}, True),
        ({"created_at__gte": "2026-10-01 00:00:00+00:00"}, True),
        ({"created_at__gte": "2026-10-09 00:00:00+00:00"}, False),
    ],
)
def test_operations_are_filtered_by_what_was_asked_where_and_by_whom(
    operator: Client, told: Told, parameters: dict[str, str], is_found: bool
) -> None:
    assert bool(listed_ids(operator.get(url(Operation), parameters))) is is_found


def test_an_agent_without_operations_has_none(operator: Client, told: Told) -> None:
    idle = another_agent()

    assert not listed_ids(operator.get(url(Operation), {"agent": idle.client_id}))


@pytest.mark.parametrize(
    ("happened", "make_it_so"),
    [
        ("waiting", lambda one: Operation.objects.update(state="open") and one.approve()),
        ("revised", lambda one: Operation.objects.update(revision_count=2)),
        ("declined", lambda one: one.decline()),
        ("by_agent", lambda one: Approval.objects.update(approver="agent")),
        ("late", lambda one: Performance.objects.update(how="late")),
        ("settled", lambda one: one.settle()),
        ("voided", lambda one: Approval.objects.update(voided_at=NOW)),
    ],
)
def test_operations_are_found_by_what_happened_to_them(
    listed: Agent, operator: Client, happened: str, make_it_so: Callable[[Plain], object]
) -> None:
    with time_machine.travel(NOW + timedelta(minutes=15, seconds=0.9), tick=False) as clock:
        operator.force_login(get_user_model().objects.get(username__startswith="staff"))
        plain = Plain(tell(listed))
        assert not listed_ids(operator.get(url(Operation), {"happened": happened}))
        make_it_so(plain)
        found = listed_ids(operator.get(url(Operation), {"happened": happened}))
        assert found == {plain.told.operation.operation_id}
        clock.shift(1)
        still = listed_ids(operator.get(url(Operation), {"happened": happened}))
        assert bool(still) is (happened != "waiting")


class Plain:
    """An operation to which nothing happened but that it was performed."""

    def __init__(self, told: Told) -> None:
        self.told = told
        self.kept = [Decline.objects.get(), Settlement.objects.get()]
        for row in self.kept:
            type(row).objects.all().delete()
        self.approve()

    def approve(self) -> None:
        Approval.objects.update(voided_at=None)

    def decline(self) -> None:
        self.kept[0].save(force_insert=True)

    def settle(self) -> None:
        self.kept[1].save(force_insert=True)


@pytest.mark.parametrize("parameter", ["standing", "happened", "of_action", "agent"])
def test_a_value_that_no_filter_offers_is_refused(
    operator: Client, told: Told, parameter: str
) -> None:
    response = operator.get(url(Operation), {parameter: "else\0where"})

    assert response.status_code == 302
    assert response["Location"].endswith("?e=1")


def test_revisions_are_filtered_by_whether_they_can_be_approved(
    operator: Client, told: Told
) -> None:
    operation_id = told.operation.operation_id
    for second, approvable in ((0, True), (0.9, True), (1, False)):
        with time_machine.travel(told.revision.expires_at + timedelta(seconds=second), tick=False):
            operator.force_login(get_user_model().objects.get(username__startswith="staff"))
            found = [
                choice
                for choice in ("yes", "no")
                if operation_id in text(operator.get(url(Revision), {"approvable": choice}))
            ]
            assert found == ["yes" if approvable else "no"]


def test_approvals_and_declines_are_filtered_by_the_stated_approver(
    operator: Client, told: Told
) -> None:
    for model, approver, other in ((Approval, "user", "agent"), (Decline, "agent", "user")):
        assert listed_ids(operator.get(url(model), {"stated_approver": approver}))
        assert not listed_ids(operator.get(url(model), {"stated_approver": other}))


@pytest.mark.parametrize(
    ("model", "parameter"),
    [
        (Operation, "slot__startswith"),
        (Operation, "attempt__startswith"),
        (Operation, "owner_digest"),
        (Operation, "performance__body__contains"),
        (Revision, "ref__startswith"),
        (Revision, "terms__contains"),
        (Revision, "operation__slot__startswith"),
        (Performance, "body__contains"),
        (Performance, "headers__contains"),
        (Join, "ticket_digest__startswith"),
        (Join, "session_key_digest__startswith"),
        (Join, "agent__jwks__contains"),
    ],
)
def test_hidden_columns_cannot_be_guessed_through_the_address(
    operator: Client, told: Told, model: Any, parameter: str
) -> None:
    assert operator.get(url(model), {parameter: SECRET[:1]}).status_code == 400


def test_the_rows_of_one_operation_have_an_address(
    operator: Client, listed: Agent, told: Told
) -> None:
    tell(listed)
    parameters = {"operation__id__exact": told.operation.pk}

    found = listed_ids(operator.get(url(Revision), parameters))
    assert found == {told.operation.operation_id}


def test_rows_are_read_where_they_are_written(operator: Client, told: Told, settings: Any) -> None:
    settings.DATABASE_ROUTERS = ["tests.admin.test_admin.StaleReplica"]

    assert listed_ids(operator.get(url(Operation), {"q": told.operation.operation_id}))
    assert told.revision.revision in text(operator.get(url(Operation, of=told.operation)))


class StaleReplica:
    """Reads of our models go to a database that is not there."""

    def db_for_read(self, model: Any, **hints: Any) -> str | None:
        return "replica" if model._meta.app_label == "poppy_operations" else None

    def db_for_write(self, model: Any, **hints: Any) -> str:
        return DEFAULT_DB_ALIAS


# The history


def test_the_history_tells_everything_in_order(operator: Client, told: Told) -> None:
    revision = told.revision
    revision.retired_at = NOW + timedelta(minutes=6)
    revision.save()
    again = revise(told)
    Revision.objects.filter(pk=again.pk).update(retired_at=None)
    Approval.objects.filter(revision=again).delete()
    page = text(operator.get(url(Operation, of=told.operation)))
    whats = re.findall(r'<h3><a href="[^"]+">(.+?)</a>', page)

    assert whats == [
        "Asked: terms 1",
        f"Asked again: terms {again.number}",
        "Approval of terms 1 received",
        "Approval of terms 1 declined by the Company",
        "Performed",
        "Outcome settled",
        "Approval of terms 1 voided",
        "Terms 1 retired",
    ]
    for value in ("no-agents", "the gateway says so", "asked by phone", "Buy a jacket.", "303"):
        assert value in page


@pytest.mark.requirement("OPS-8.1-06")
def test_what_the_agent_stated_is_labelled_so(operator: Client, told: Told) -> None:
    page = text(operator.get(url(Operation, of=told.operation)))
    stated = page.split("Stated by the Personal Agent")[1]
    approval = text(operator.get(url(Approval, of=told.approval)))
    stated_in_approval = approval.split("Stated by the Personal Agent")[1].split("Voided")[0]

    for words in ("voice", told.approval.reference, "2026-10-08T", "user"):
        assert words in stated
        assert words in stated_in_approval
    assert "proves nothing about the User" in page
    assert "proves nothing about the User" in approval


def test_what_changed_between_revisions_is_shown_as_differences(
    operator: Client, told: Told
) -> None:
    changed = revise(told)
    changed.terms = json.dumps({"to": "Carol", "total": {"amount": "75.00"}, "gift": True})
    changed.content_fields = json.dumps({"field": "other", "note": "n"})
    changed.looked_up_at = NOW + timedelta(seconds=3)
    changed.save()
    same = revise(told)
    same.terms, same.content_fields = changed.terms, changed.content_fields
    same.save()
    page = text(operator.get(url(Operation, of=told.operation)))
    first, second, third = page.split("<h3>")[1], *page.split("Asked again: terms")[1:]

    assert "poppy-changes" not in first
    for shown in (
        '<th scope="row">gift</th><td><i>not there</i></td><td><ins>true</ins></td>',
        '<th scope="row">to</th><td><del>&lt;b&gt;Bob&lt;/b&gt;</del></td><td><ins>Carol</ins>',
        '<th scope="row">total.amount</th><td><del>70.00</del></td><td><ins>75.00</ins></td>',
        "The request differs in: field, note",
    ):
        assert shown in second
    assert "The terms are the same as before." in third
    assert "The request differs in" not in third
    assert f"Terms {changed.number} looked up by the agent" in page


@pytest.mark.slow
def test_a_history_that_is_cut_still_tells_what_changed(operator: Client, told: Told) -> None:
    for _ in range(MOST):
        revise(told)
    page = text(operator.get(url(Operation, of=told.operation)))

    assert page.count("The terms are the same as before.") == MOST


def test_what_is_under_way_stands_in_the_history(operator: Client, listed: Agent) -> None:
    fields = {"state": "performing", "effects": "external", "started_at": NOW}
    mine = tell(listed, **fields, lease_until=NOW + timedelta(days=9999)).operation
    page = text(operator.get(url(Operation, of=mine)))
    assert "Attempt begun" in page
    assert "It is being performed." in page
    assert "Nobody knows" not in page
    Operation.objects.update(outcome_unknown_since=NOW)

    page = text(operator.get(url(Operation, of=mine)))
    assert "Nobody knows whether it took effect" in page
    assert "no reconcile hook" in page


@pytest.mark.parametrize("unknown_since", [None, NOW + timedelta(minutes=2)])
def test_a_settled_attempt_keeps_its_place_in_the_history(
    operator: Client, told: Told, unknown_since: Any
) -> None:
    started_at = NOW + timedelta(minutes=1)
    Settlement.objects.update(started_at=started_at, unknown_since=unknown_since)
    page = text(operator.get(url(Operation, of=told.operation)))

    assert "Attempt begun" in page
    assert ("Nobody knows whether it took effect" in page) is (unknown_since is not None)


def test_what_happens_within_a_second_stands_in_its_order(
    signed_in: SessionOf, operator: Client, jacket: Item
) -> None:
    api = ApiClient(signed_in)
    with time_machine.travel(NOW.replace(microsecond=100_000), tick=False) as clock:
        first = api.ask()
        clock.shift(timedelta(milliseconds=100))
        Item.objects.update(price="75.00")
        assert api.approve(first).status_code == 403
    row = Operation.objects.get()
    Decline.objects.create(
        operation=row,
        revision=row.revisions.get(number=1),
        approver="user",
        declined_at=NOW.replace(microsecond=150_000),
    )
    page = text(operator.get(url(Operation, of=row)))

    assert re.findall(r'<h3><a href="[^"]+">(.+?)</a>', page) == [
        "Asked: terms 1",
        "Approval of terms 1 declined by the Company",
        "Asked again: terms 2",
    ]


def test_an_action_with_a_hook_is_known_to_have_one(operator: Client, listed: Agent) -> None:
    fields = {"state": "performing", "effects": "external", "started_at": NOW}
    action = Action("tests.with_hook", effects="external")
    action.reconcile(lambda operation: None)
    try:
        mine = tell(listed, **fields, action=action.name, outcome_unknown_since=NOW).operation
        assert "poppy_reconcile asks it" in text(operator.get(url(Operation, of=mine)))
    finally:
        registry.discard(action)


def test_terms_are_shown_for_people_and_escaped(operator: Client, told: Told) -> None:
    Decline.objects.update(alternative=None)
    for page in (url(Operation, of=told.operation), url(Revision, of=told.revision)):
        shown = text(operator.get(page))
        assert "&quot;amount&quot;: &quot;70.00&quot;" in shown
        assert "&lt;b&gt;Bob&lt;/b&gt;" in shown
        assert "<b>Bob" not in shown


def test_the_history_shows_only_what_one_may_view(told: Told) -> None:
    page = text(staff("view_operation", "view_approval").get(url(Operation, of=told.operation)))

    assert "Approval of terms 1 received" in page
    assert "70.00" not in page
    assert "Asked" not in page
    assert "You may not view: revisions, declines, performances, settlements" in page


@pytest.mark.slow
def test_a_long_history_shows_the_newest_of_each_kind(operator: Client, told: Told) -> None:
    page = url(Operation, of=told.operation)
    assert "only the newest" not in text(operator.get(page))
    for _ in range(MOST):
        newest = revise(told)
    shown = text(operator.get(page))

    assert "only the newest" in shown
    assert newest.revision in shown
    assert "terms 1<" not in shown


def test_a_signed_out_owner_is_told_from_an_account(operator: Client, listed: Agent) -> None:
    signed_out = tell(listed, account=None).operation

    assert "signed out" in text(operator.get(url(Operation)))
    assert "signed out" in text(operator.get(url(Operation, of=signed_out)))


def test_a_stated_time_is_shown_whatever_it_is() -> None:
    assert moment(None) is None
    assert moment(0) == "1970-01-01T00:00:00Z"
    assert moment(10**15 - 1) == "999999999999999"


def test_the_pages_work_without_time_zones(listed: Agent, settings: Any) -> None:
    settings.USE_TZ = False
    client = staff("view_operation", "view_revision", "view_approval")
    mine = tell(listed, at=datetime(2026, 10, 8, 12), state="open")  # noqa: DTZ001  what is stored then
    Approval.objects.filter(operation=mine.operation).update(voided_at=None)

    assert listed_ids(client.get(url(Operation), {"standing": "open"}))
    assert text(client.get(url(Revision), {"approvable": "no"}))
    page = text(client.get(url(Operation, of=mine.operation)))
    assert "Approval of terms 1 received" in page
    assert "voided" not in page


# Revoking


def revoke(client: Client, agent: Agent, **data: str) -> Any:
    return client.post(
        url(Agent), {"action": "revoke", "_selected_action": agent.pk, **data}, follow=True
    )


def test_an_agent_is_revoked_after_a_confirmation(guard: Client, listed: Agent) -> None:
    page = text(revoke(guard, listed))
    listed.refresh_from_db()
    assert listed.status == "allowed"
    assert listed.client_id in page
    assert 'name="confirmed" value="yes"' in page

    assert "1 Personal Agent was revoked." in text(revoke(guard, listed, confirmed="yes"))
    listed.refresh_from_db()
    assert listed.status == "revoked"
    assert listed.revoked_at is not None
    assert LogEntry.objects.get().get_change_message() == "Revoked."

    assert "0 Personal Agents were revoked." in text(revoke(guard, listed, confirmed="yes"))
    assert LogEntry.objects.count() == 1


def test_whoever_may_only_view_agents_revokes_none(operator: Client, listed: Agent) -> None:
    assert "Revoke the selected" not in text(operator.get(url(Agent)))

    revoke(operator, listed, confirmed="yes")
    listed.refresh_from_db()
    assert listed.status == "allowed"


def test_an_agents_browser_decides_nothing(guard: Client, listed: Agent) -> None:
    assert "Revoke the selected" in text(guard.get(url(Agent)))
    mark(guard)

    assert "Revoke the selected" not in text(guard.get(url(Agent)))
    assert revoke(guard, listed).status_code == 403
    assert revoke(guard, listed, confirmed="yes").status_code == 403
    listed.refresh_from_db()
    assert listed.status == "allowed"


def test_a_browser_that_was_joined_as_a_member_of_staff_looks_and_decides_nothing(
    session_of: Callable[..., SessionOf], agent: PersonalAgent, settings: Any
) -> None:
    configure(settings, JOIN_STAFF=True)
    root = get_user_model().objects.create_superuser("root")
    browser = session_of(account=str(root.pk)).browser()
    allowed = Agent.objects.get(client_id=agent.client_id)

    assert allowed.client_id in text(browser.get(url(Agent)))
    assert revoke(browser, allowed, confirmed="yes").status_code == 403
    allowed.refresh_from_db()
    assert allowed.status == "allowed"


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_nothing_can_be_sent_to_a_list_by_an_agents_browser(
    operator: Client, told: Told, model: Any
) -> None:
    mark(operator)

    assert operator.post(url(model), {"action": "anything"}).status_code == 403


def test_the_key_ids_of_an_agent_are_shown(operator: Client, listed: Agent) -> None:
    without = another_agent()

    assert "k1 (EC)" in text(operator.get(url(Agent, of=listed)))
    assert text(operator.get(url(Agent, of=without)))
