"""The admin: what operators see, what nobody sees, and the one decision that is made there."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import DEFAULT_DB_ALIAS, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from poppy_operations.admin.history import MOST, moment
from poppy_operations.browser import marks
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
from tests.agents import SessionOf

pytestmark = pytest.mark.django_db

MODELS = [Agent, Operation, Revision, Approval, Decline, Performance, Settlement, Join]
NOW = datetime(2026, 10, 8, 12, tzinfo=UTC)
SECRET = "hidden-from-operators"
numbers = itertools.count()


def url(model: type, *, of: Any = None) -> str:
    page = f"/admin/poppy_operations/{model.__name__.lower()}/"
    return page if of is None else f"{page}{of.pk}/change/"


@dataclass
class Told:
    """One operation with everything that can belong to it."""

    operation: Operation
    revision: Revision
    approval: Approval
    performance: Performance
    join: Join


def tell(agent: Agent, account: str | None = "7", *, at: datetime = NOW, **fields: Any) -> Told:
    n = next(numbers)
    operation = Operation.objects.create(
        **{
            "operation_id": f"op_{n}",
            "action": "shop.buy",
            "interface": "website",
            "client_id": agent.client_id,
            "user_id": "u1",
            "account": account,
            "owner_digest": f"{SECRET}-owner",
            "slot": f"{SECRET}-slot-{n}",
            "attempt": f"{SECRET}-a",
            "state": "performed",
            "created_at": at,
            **fields,
        }
    )
    revision = Revision.objects.create(
        operation=operation,
        revision=f"rev-{n}",
        number=1,
        ref=f"{SECRET}-ref-{n}",
        watch=f"{SECRET}-watch-{n}",
        terms=json.dumps({"to": "<b>Bob</b>", "total": {"amount": "70.00"}}),
        terms_digest=SECRET,
        target_digest=SECRET,
        raw_digest=SECRET,
        content_digest=SECRET,
        content_fields=json.dumps({"field": SECRET}),
        summary="Buy a jacket.",
        returned_at=at,
        expires_at=at + timedelta(minutes=15),
        lifetime_s=900,
    )
    approval = Approval.objects.create(
        operation=operation,
        revision=revision,
        approver="user",
        approved_at=1791460000,
        input_type="voice",
        reference=f"agents-own-{n}",
        sid="ses_1",
        received_at=at + timedelta(minutes=1),
        voided_at=at + timedelta(minutes=5),
        voided_by="staff",
        voided_because="asked by phone",
    )
    Decline.objects.create(
        operation=operation,
        revision=revision,
        approver="agent",
        reason="Only Users approve this.",
        alternative=json.dumps({"url": "/elsewhere"}),
        rule="no-agents",
        declined_at=at + timedelta(minutes=2),
    )
    performance = Performance.objects.create(
        operation=operation,
        revision=revision,
        approval=approval,
        attempt=f"{SECRET}-a",
        status=303,
        headers=json.dumps([["Location", f"/{SECRET}"]]),
        body=SECRET.encode(),
        finished_at=at + timedelta(minutes=3),
    )
    Settlement.objects.create(
        operation=operation,
        attempt=f"{SECRET}-b",
        outcome="not_performed",
        settled_by="staff",
        because="the gateway says so",
        settled_at=at + timedelta(minutes=4),
    )
    join = Join.objects.create(
        agent=agent,
        ticket_digest=f"{SECRET}-{n}",
        ticket_expires_at=at,
        user_id="u1",
        account=account,
        sid=f"ses_{n}",
        return_to=f"/{SECRET}",
        cookie_name=SECRET,
        cookie_digest=SECRET,
        session_key_digest=SECRET,
        created_at=at,
        expires_at=at,
    )
    return Told(operation, revision, approval, performance, join)


@pytest.fixture
def listed() -> Agent:
    keys = {"keys": [{"kid": "k1", "kty": "EC", "x": SECRET}]}
    return Agent.objects.create(
        client_id="https://agent.example/client", name="Agent", jwks=json.dumps(keys)
    )


@pytest.fixture
def told(listed: Agent) -> Told:
    return tell(listed)


def staff(*permissions: str) -> Client:
    user = get_user_model().objects.create_user(f"staff{next(numbers)}", is_staff=True)
    found = Permission.objects.filter(content_type__app_label="poppy_operations")
    user.user_permissions.set(found.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def operator() -> Client:
    """May view everything, and change nothing."""
    return staff(*(f"view_{model.__name__.lower()}" for model in MODELS))


@pytest.fixture
def guard() -> Client:
    """May view and revoke agents."""
    return staff("view_agent", "change_agent")


def text(response: Any) -> str:
    assert response.status_code == 200, response
    content: str = response.content.decode()
    return content


def listed_ids(response: Any) -> set[str]:
    return set(re.findall(r"\bop_\d+\b", text(response)))


def mark(client: Client) -> None:
    session = client.session
    session[marks.MARK] = True
    session.save()


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


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_list_costs_the_same_for_ten_and_two_hundred_rows(
    operator: Client, listed: Agent, model: Any
) -> None:
    def rows(number: int) -> None:
        for _ in range(number):
            tell(listed if model is not Agent else another_agent())

    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            text(operator.get(url(model)))
        return len(queries)

    rows(10)
    cost()  # Django looks up its content types once for each process.
    before = cost()
    rows(190)

    assert cost() == before


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
    stated = ("Approved by: user", "Approved at: 2026-10-08T", "Input type: voice")
    owner = (told.operation.client_id, "u1", ">7<")
    times = ("Oct. 8, 2026, noon", "Oct. 8, 2026, 12:01 p.m.", "Oct. 8, 2026, 12:03 p.m.")
    for value in (*stated, told.approval.reference, *owner, "70.00", *times):
        assert value in page, value


def test_joins_and_agents_are_found_by_client_id(operator: Client, told: Told) -> None:
    tell(another_agent())

    assert told.join.sid in text(operator.get(url(Join), {"q": told.join.agent.client_id}))
    assert "0 browser joins" in text(operator.get(url(Join), {"q": "https://nobody.example"}))
    assert "1 Personal Agent" in text(operator.get(url(Agent), {"q": "agent.example"}))


@pytest.mark.parametrize(
    ("standing", "fields"),
    [
        ("open", {"state": "open"}),
        ("performing", {"state": "performing", "lease_until": NOW + timedelta(minutes=1)}),
        ("performing", {"state": "performing", "lease_until": None}),
        ("lapsed", {"state": "performing", "lease_until": NOW - timedelta(minutes=1)}),
        (
            "unknown",
            {
                "state": "performing",
                "lease_until": NOW - timedelta(minutes=1),
                "outcome_unknown_since": NOW,
            },
        ),
        ("performed", {"state": "performed"}),
    ],
)
def test_operations_are_filtered_by_where_they_stand(
    listed: Agent, operator: Client, standing: str, fields: dict[str, Any]
) -> None:
    others = {
        "open": "performing",
        "performing": "lapsed",
        "lapsed": "unknown",
        "unknown": "performed",
        "performed": "open",
    }
    labels = {"lapsed": "performing, its lease over", "unknown": "outcome unknown"}
    with time_machine.travel(NOW, tick=False):
        operator.force_login(get_user_model().objects.get(username__startswith="staff"))
        mine = tell(listed, **fields).operation
        found = operator.get(url(Operation), {"standing": standing})
        assert listed_ids(found) == {mine.operation_id}
        assert labels.get(standing, standing) in text(operator.get(url(Operation, of=mine)))
        assert not listed_ids(operator.get(url(Operation), {"standing": others[standing]}))


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


@pytest.mark.parametrize("parameter", ["standing", "of_action", "agent"])
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
    settings.DATABASE_ROUTERS = ["tests.test_admin.StaleReplica"]

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
    whats = re.findall(r'<th scope="row"><a href="[^"]+">(.+?)</a>', page)

    assert whats == [
        "Terms returned, number 1",
        f"Terms returned, number {again.number}",
        "Approval received",
        "Approval declined by the Company",
        "Performed",
        "Outcome settled",
        "Approval voided",
        "Terms retired, number 1",
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


def test_terms_are_shown_for_people_and_escaped(operator: Client, told: Told) -> None:
    Decline.objects.update(alternative=None)
    for page in (url(Operation, of=told.operation), url(Revision, of=told.revision)):
        shown = text(operator.get(page))
        assert "&quot;amount&quot;: &quot;70.00&quot;" in shown
        assert "&lt;b&gt;Bob&lt;/b&gt;" in shown
        assert "<b>Bob" not in shown


def test_the_history_shows_only_what_one_may_view(told: Told) -> None:
    page = text(staff("view_operation", "view_approval").get(url(Operation, of=told.operation)))

    assert "Approval received" in page
    assert "70.00" not in page
    assert "Terms returned" not in page
    assert "You may not view: revisions, declines, performances, settlements" in page


def test_a_long_history_shows_the_newest_of_each_kind(operator: Client, told: Told) -> None:
    page = url(Operation, of=told.operation)
    assert "only the newest" not in text(operator.get(page))
    for _ in range(MOST):
        newest = revise(told)
    shown = text(operator.get(page))

    assert "only the newest" in shown
    assert newest.revision in shown
    assert "number 1<" not in shown


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
    assert "Approval received" in page
    assert "Approval voided" not in page


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
    settings.POPPY_OPERATIONS = {**settings.POPPY_OPERATIONS, "JOIN_STAFF": True}
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
