"""Sites whose operations are in another database than the rest, and sites with replicas."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connections, router
from django.http import Http404
from django.test import Client
from django.utils import timezone

from poppy_operations import NotPerformed, Performed, maintenance
from poppy_operations.background import perform_attempt
from poppy_operations.checks.site import check_database
from poppy_operations.models import Approval, Operation
from tests.admin.operators import url
from tests.agents import HOST
from tests.configuring import configure
from tests.databases.doors import Door, effects_left
from tests.databases.routers import ELSEWHERE, StaleRead
from tests.databases.sites import ALONE, BOTH, REPLICA, WITH_ORDERS, connected
from tests.databases.stories import (
    Slow,
    happens_once,
    late_finish,
    late_finish_outside,
    twelve_at_once,
)
from tests.shop.operations import Behaviour, happen, refund
from tests.shop.orders import api, transfer

pytestmark = pytest.mark.servers
OUTSIDE = ("website-outside", "api-outside")
WITHIN = ("website", "website-async", "api")


def ours(model: Any) -> Any:
    """The rows of a model, where they are written."""
    return model.objects.using(router.db_for_write(model))


def at(*sites: Any) -> Any:
    return pytest.mark.parametrize("running", sites, indirect=True, scope="module")


def doors(*names: str) -> Any:
    return pytest.mark.parametrize("door", names, indirect=True)


with_orders = pytest.mark.parametrize(
    "running", WITH_ORDERS.values(), ids=WITH_ORDERS, indirect=True, scope="module"
)
alone = pytest.mark.parametrize("running", ALONE.values(), ids=ALONE, indirect=True, scope="module")


# A replica decides nothing


@at(REPLICA)
def test_a_read_that_forgets_where_we_write_would_be_seen(db: None) -> None:
    with pytest.raises(StaleRead):
        Operation.objects.count()


@at(REPLICA)
@doors(*WITHIN, *OUTSIDE)
def test_nothing_is_decided_by_what_a_replica_says(door: Door) -> None:
    happens_once(door)


# Operations and orders in one database, accounts and browsers in another


@at(WITH_ORDERS["autocommit"], ALONE["autocommit"])
def test_the_default_database_has_no_tables_of_ours(db: None) -> None:
    ours = Operation._meta.db_table
    tables = {alias: set(connections[alias].introspection.table_names()) for alias in connections}
    assert [alias for alias in tables if ours in tables[alias]] == [ELSEWHERE]


@with_orders
@doors(*WITHIN, *OUTSIDE)
def test_operations_and_orders_beside_the_default_database_happen_once(door: Door) -> None:
    happens_once(door)


@at(WITH_ORDERS["both"])
@doors("website", "api")
def test_twelve_requests_beside_the_default_database_have_one_effect(door: Door) -> None:
    twelve_at_once(door)


@at(WITH_ORDERS["both"])
@doors("website", "api")
def test_a_late_finish_beside_the_default_database_is_rolled_back(
    door: Door, site: Behaviour
) -> None:
    site.after_effect = slow = Slow()
    late_finish(door, slow)


@at(WITH_ORDERS["both"])
@doors("website", "api")
def test_what_fails_is_undone_in_every_database_that_has_a_transaction(
    door: Door, site: Behaviour
) -> None:
    door.ask_and_approve()
    blocks: list[bool] = []

    def fail(operation: Any) -> None:
        blocks.extend(connections[alias].in_atomic_block for alias in BOTH)
        get_user_model().objects.update(first_name="undone")
        raise Http404

    site.after_effect = fail
    assert door.send().status_code == 404
    assert blocks == [True, True]
    assert not get_user_model().objects.filter(first_name="undone").exists()
    assert (door.state, effects_left()) == ("open", 0)
    site.reset()
    assert door.send().status_code == door.performed


# Operations in a database of their own: whatever happens elsewhere is outside


@alone
@doors(*OUTSIDE)
def test_operations_in_a_database_of_their_own_happen_once(door: Door) -> None:
    happens_once(door)


@at(ALONE["both"])
@doors(*OUTSIDE)
def test_twelve_requests_beside_a_database_of_our_own_have_one_effect(door: Door) -> None:
    twelve_at_once(door)


@at(ALONE["both"])
@doors(*OUTSIDE)
def test_nobody_takes_over_what_reaches_another_database(door: Door, site: Behaviour) -> None:
    site.before_effect = slow = Slow()
    late_finish_outside(door, slow)


# A database that commits nothing by itself


@at(WITH_ORDERS["autocommit"])
@doors(*WITHIN, *OUTSIDE)
def test_with_autocommit_off_a_check_fails_and_nothing_is_performed(door: Door) -> None:
    door.ask_and_approve()
    databases = {alias: dict(connections.settings[alias]) for alias in connections}
    databases[ELSEWHERE]["AUTOCOMMIT"] = False
    with connected(databases):
        assert [found.id for found in check_database()] == ["poppy_operations.E014"]
        answer = door.send()
        assert (answer.status_code, answer["Retry-After"]) == (503, "1")
    assert (door.state, effects_left()) == ("open", 0)
    assert door.send().status_code == door.performed


# What operators and workers do


@pytest.fixture
def operators(db: None) -> Client:
    """A browser of somebody who may do everything."""
    client = Client(headers={"host": HOST})
    client.force_login(get_user_model().objects.create_superuser("boss"))
    return client


@at(REPLICA, WITH_ORDERS["autocommit"])
@doors("website-outside")
@pytest.mark.parametrize("outcome", ["performed", "not_performed"])
def test_an_unknown_outcome_is_settled_and_then_forgotten_where_it_is_written(
    door: Door, site: Behaviour, operators: Client, outcome: str
) -> None:
    door.ask_and_approve()
    site.after_effect = fail
    with pytest.raises(ConnectionError):
        door.send()
    assert [found.operation_id for found in maintenance.stuck()] == [door.operation_id]

    operation = ours(Operation).get()
    shown = url(Operation, of=operation)
    settle = shown.replace("change", "settle")
    assert [operators.get(page).status_code for page in (url(Operation), shown, settle)] == [
        200
    ] * 3
    form = {"outcome": outcome, "because": "I asked.", "attempt": operation.attempt}
    assert operators.post(settle, form).status_code == 302
    assert door.state == ("performed" if outcome == "performed" else "open")
    site.reset()
    assert door.send().status_code == (403 if outcome == "performed" else door.performed)
    later = timezone.now() + timedelta(days=3)
    assert maintenance.reconcile(now=later) == maintenance.Reconciled()
    assert maintenance.purge(now=later).operations >= 1


def fail(operation: Any) -> None:
    raise ConnectionError


@at(REPLICA, WITH_ORDERS["autocommit"])
@doors("website")
def test_an_approval_is_voided_where_it_is_written(door: Door, operators: Client) -> None:
    door.ask_and_approve()
    approval = ours(Approval).get()
    shown = url(Approval, of=approval)
    void = shown.replace("change", "void")
    assert [operators.get(page).status_code for page in (url(Approval), shown, void)] == [200] * 3
    assert operators.post(void, {"because": "They changed their mind."}).status_code == 302
    assert door.send().status_code == 403
    assert effects_left() == 0


@at(REPLICA, WITH_ORDERS["autocommit"])
@doors("website-outside", "api-outside")
@pytest.mark.parametrize("found", [Performed(), NotPerformed(), None])
def test_an_unknown_outcome_is_reconciled_where_it_is_written(
    door: Door, site: Behaviour, monkeypatch: pytest.MonkeyPatch, found: Any
) -> None:
    for action in (refund, transfer):
        monkeypatch.setattr(action, "reconcile_hook", lambda operation: found)
    door.ask_and_approve()
    site.after_effect = fail
    with pytest.raises(ConnectionError):
        door.send()
    maintenance.reconcile()
    state = "performing" if found is None else "open"
    assert door.state == ("performed" if isinstance(found, Performed) else state)


messages: list[tuple[str, str]] = []


def queue(*message: str) -> None:
    messages.append((message[0], message[1]))


@at(REPLICA, WITH_ORDERS["autocommit"])
@doors("website-outside", "api-outside")
def test_a_worker_performs_what_is_written(
    door: Door, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    for action in (refund, transfer):
        monkeypatch.setattr(action, "background", True)
        monkeypatch.setattr(action, "perform", happen)
    configure(settings, QUEUE=f"{__name__}.queue")
    messages.clear()
    door.ask_and_approve()
    assert door.send().status_code in door.meanwhile
    assert [perform_attempt(*message) for message in messages * 2] == [True, False]
    assert (door.state, effects_left()) == ("performed", 1)


@with_orders
@doors("website", "website-async", "api")
def test_nothing_stays_in_our_database_of_what_says_so_without_an_approval(
    door: Door, site: Behaviour, monkeypatch: pytest.MonkeyPatch
) -> None:
    def after_all(_operation: Any) -> None:
        raise NotPerformed

    door.ask_and_approve()
    assert door.send().status_code == door.performed
    monkeypatch.setattr(site, "needed", False)
    monkeypatch.setattr(api, "needed", False)
    site.after_effect = after_all
    assert door.send_without_approval().status_code == 409
    assert effects_left() == 1
