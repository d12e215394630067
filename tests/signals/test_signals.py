"""What receivers are told, when, and that nothing depends on them."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.db.models import Model
from django.db.models.signals import post_init
from django.dispatch import Signal
from django.test import AsyncClient

from poppy_operations import maintenance, signals
from poppy_operations.declarations.outcomes import Decline, Performed
from poppy_operations.models import Operation, Revision
from poppy_operations.signals import (
    approval_declined,
    approval_recorded,
    operation_performed,
    operation_returned,
    operation_settled,
    outcome_unknown,
    tell,
)
from tests.agents import ORDER, ApiClient, SessionOf
from tests.asking import ask, recorded
from tests.lifecycle.rows import returned
from tests.shop import operations as shop
from tests.shop.models import Effect, Item
from tests.shop.operations import Behaviour

pytestmark = pytest.mark.django_db(transaction=True)
ALL = {
    "returned": operation_returned,
    "recorded": approval_recorded,
    "declined": approval_declined,
    "performed": operation_performed,
    "unknown": outcome_unknown,
    "settled": operation_settled,
}


@contextmanager
def listening(receiver: Callable[..., Any], *to: Signal) -> Iterator[None]:
    for signal in to:
        signal.connect(receiver, weak=False)
    try:
        yield
    finally:
        for signal in to:
            signal.disconnect(receiver)


def columns(row: Model) -> dict[str, Any]:
    """What a row holds, as the database spells it."""
    held = {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}
    return {
        name: bytes(value) if isinstance(value, memoryview) else value
        for name, value in held.items()
    }


class Told:
    """What was told, in order, and that it is what was committed."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.named: list[dict[str, Any]] = []

    def __call__(self, signal: Signal, sender: type, **named: Any) -> None:
        assert sender is Operation
        assert not connection.in_atomic_block
        operation = named["operation"]
        assert columns(operation) == columns(Operation.objects.get(pk=operation.pk))
        for name, row in named.items():
            if isinstance(row, Model) and row is not operation:
                assert row.operation is operation, name  # type: ignore[attr-defined]
                assert columns(row) == columns(type(row)._default_manager.get(pk=row.pk)), name
        self.names.append(next(name for name, one in ALL.items() if one is signal))
        self.named.append(named)


@pytest.fixture
def told() -> Iterator[Told]:
    found = Told()
    with listening(found, *ALL.values()):
        yield found


def failing(*_args: Any, **_named: Any) -> None:
    message = "a fault of the site's"
    raise RuntimeError(message)


def test_the_story_of_an_exchange_is_told_in_order(
    signed_in: SessionOf, jacket: Item, told: Told
) -> None:
    browser = signed_in.browser()
    ref = ask(browser)
    ask(browser)  # the same revision again is nothing new
    signed_in.look_up(ref)
    approval = signed_in.approve(ref)
    assert signed_in.endpoint(ref, approval).status_code == 204  # nor is the same approval
    browser.post("/buy/", ORDER)
    assert signed_in.endpoint(ref, approval).status_code == 204

    assert told.names == ["returned", "recorded", "performed"]
    first, second, third = told.named
    assert first["revision"].revision == approval["revision"]
    assert (second["approval"].approver, second["revision"].revision) == (
        "user",
        approval["revision"],
    )
    assert third["late"] is False
    assert third["revision"].revision == approval["revision"]
    assert third["approval"].pk == second["approval"].pk
    assert third["performance"].revision_id == third["revision"].pk
    assert {one["operation"].operation_id for one in told.named} == {approval["operation_id"]}


def test_a_decline_is_told_once(
    signed_in: SessionOf, jacket: Item, told: Told, monkeypatch: Any
) -> None:
    monkeypatch.setattr(shop.buy, "decline_hook", lambda *_: Decline("no", rule="never"))
    browser = signed_in.browser()
    ref = ask(browser)
    operation = signed_in.look_up(ref)
    approval = {**_names(operation), "approver": "user"}
    for _ in range(2):
        assert signed_in.endpoint(ref, approval).json()["error"] == "approval_declined"

    assert told.names == ["returned", "declined"]
    assert told.named[1]["decline"].rule == "never"
    assert told.named[1]["revision"].revision == operation["revision"]


def _names(operation: Any) -> dict[str, str]:
    return {name: operation[name] for name in ("operation_id", "revision")}


@pytest.fixture
def unknown(signed_in: SessionOf, jacket: Item, site: Behaviour) -> Operation:
    """An operation of which nobody knows whether it was performed."""
    api = ApiClient(signed_in, "/api/transfer/")
    signed_in.client.raise_request_exception = False
    site.after_effect = failing
    api.approve(api.ask())
    return Operation.objects.get()


def test_an_unknown_outcome_and_its_end_are_told(told: Told, unknown: Operation) -> None:
    assert maintenance.settle_by_hand(unknown, None, by="bob", because="looked")

    assert told.names == ["returned", "unknown", "settled"]
    assert told.named[1]["attempt"] == unknown.attempt
    assert told.named[1]["operation"].outcome_unknown_since is not None
    assert told.named[2]["settlement"].settled_by == "bob"
    assert told.named[2]["performance"] is None


def test_that_an_unknown_outcome_was_performed_is_told_with_its_performance(
    told: Told, unknown: Operation
) -> None:
    assert maintenance.settle_by_hand(unknown, Performed(status=202), by="bob", because="looked")

    assert told.names == ["returned", "unknown", "settled"]
    assert told.named[2]["performance"].status == 202


@pytest.mark.parametrize("path", ["/api/class/", "/api/transfer/"])
def test_what_an_api_performed_is_told_with_the_evidence_of_it(
    path: str, signed_in: SessionOf, jacket: Item, site: Behaviour, told: Told
) -> None:
    api = ApiClient(signed_in, path)
    operation = api.ask()
    assert api.approve(operation).status_code == 201

    assert told.names == ["returned", "performed"]
    performed = told.named[1]
    assert performed["operation"].approval_id == performed["approval"].pk
    assert performed["operation"].attempt == performed["performance"].attempt
    assert performed["operation"].started_at is not None
    assert performed["operation"].effects
    assert performed["revision"].revision == operation["revision"]
    assert performed["performance"].status == 201


def test_a_further_revision_is_told_with_its_number(
    signed_in: SessionOf, jacket: Item, told: Told
) -> None:
    browser = signed_in.browser()
    for price in (70, 71):
        Item.objects.update(price=price)
        ask(browser)

    assert [one["operation"].revision_count for one in told.named] == [1, 2]
    assert [one["revision"].number for one in told.named] == [1, 2]


def test_an_operation_that_cannot_be_read_again_is_told_as_it_is_known(
    told: Told, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Operation, "refresh_from_db", failing)
    revision = returned()

    assert told.names == ["returned"]
    (logged,) = (one for one in caplog.records if one.getMessage().startswith("An operation is"))
    assert logged.operation_id == revision.operation.operation_id  # type: ignore[attr-defined]


def test_a_late_end_is_told_as_late(
    signed_in: SessionOf, jacket: Item, site: Behaviour, told: Told, caplog: Any
) -> None:
    def given_up(_operation: Any) -> None:
        Operation.objects.update(lease_until="2020-01-01T00:00:00+00:00")
        settled = maintenance.settle_by_hand(Operation.objects.get(), None, by="bob", because="")
        assert settled

    api = ApiClient(signed_in, "/api/transfer/")
    site.after_effect = given_up
    assert api.approve(api.ask()).status_code == 201

    assert told.names == ["returned", "settled", "performed"]
    assert told.named[2]["late"] is True
    assert "Performed by an attempt that had been given up." in caplog.text
    assert Operation.objects.get().state == "performed"


def test_what_was_not_performed_is_not_told(
    signed_in: SessionOf, jacket: Item, site: Behaviour, told: Told
) -> None:
    browser = signed_in.browser()
    browser.raise_request_exception = False
    recorded(signed_in, browser)
    site.after_effect = failing
    assert browser.post("/buy/", ORDER).status_code == 500

    assert told.names == ["returned", "recorded"]
    assert not Effect.objects.exists()


def test_receivers_that_raise_break_nothing(
    signed_in: SessionOf, jacket: Item, told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    browser = signed_in.browser()
    with listening(failing, *ALL.values()):
        recorded(signed_in, browser)
        assert browser.post("/buy/", ORDER).status_code == 302

    assert told.names == ["returned", "recorded", "performed"]
    logged = [record for record in caplog.records if record.name == "poppy_operations"]
    faults = [record for record in logged if record.getMessage().startswith("A signal receiver")]
    assert len(faults) == 3
    assert {getattr(one, "operation_id", None) for one in faults} == {
        told.named[0]["operation"].operation_id
    }
    assert all(record.levelno == logging.ERROR and record.exc_info for record in faults)


def test_rows_that_cannot_be_copied_are_not_told_and_break_nothing(
    signed_in: SessionOf, jacket: Item, told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    """Something of the site's may hang on our rows, such as a lock."""

    def hang_a_lock(instance: Operation, **_named: Any) -> None:
        instance.lock = threading.Lock()  # type: ignore[attr-defined]

    api = ApiClient(signed_in, "/api/transfer/")
    operation = api.ask()
    post_init.connect(hang_a_lock, sender=Operation)
    try:
        assert api.approve(operation).status_code == 201
    finally:
        post_init.disconnect(hang_a_lock, sender=Operation)

    assert told.names == ["returned"]
    assert Operation.objects.get().state == "performed"
    (logged,) = (one for one in caplog.records if one.getMessage().startswith("A signal could"))
    assert logged.operation_id == operation["operation_id"]  # type: ignore[attr-defined]


def test_a_receiver_that_fails_and_has_no_name_breaks_nothing(
    signed_in: SessionOf, jacket: Item, site: Behaviour, caplog: pytest.LogCaptureFixture
) -> None:
    """Django logs a failure by the receiver's qualified name."""
    api = ApiClient(signed_in, "/api/class/")
    with listening(partial(failing, "an argument"), operation_performed):
        assert api.approve(api.ask()).status_code == 201

    assert Operation.objects.get().state == "performed"
    logged = [one for one in caplog.records if one.name == "poppy_operations"]
    assert [(one.levelno, "signal" in one.getMessage()) for one in logged] == [
        (logging.ERROR, True)
    ]


def test_receivers_cannot_change_the_outcome(signed_in: SessionOf, jacket: Item) -> None:
    def meddling(operation: Operation, revision: Revision | None = None, **_named: Any) -> None:
        operation.state = "performed"
        operation.operation_id = operation.attempt = operation.slot = "meddled"
        if revision is not None:
            assert revision.operation is operation  # copied together
            revision.terms = '{"sku":"another"}'
            revision.ref = revision.revision = "meddled"

    browser = signed_in.browser()
    with listening(meddling, *ALL.values()):
        ref = ask(browser)
        operation = signed_in.look_up(ref)
        assert operation["terms"]["sku"] == "jacket"
        signed_in.approve(ref)
        assert browser.post("/buy/", ORDER).status_code == 302

    assert [str(one) for one in Effect.objects.all()] == ["shop.buy 1 jacket"]
    assert Operation.objects.get().operation_id == operation["operation_id"]


def test_nothing_is_copied_where_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signals, "deepcopy", failing)

    tell(operation_returned, operation=returned().operation)


async def test_async_receivers_are_told_by_async_views(signed_in: SessionOf, jacket: Item) -> None:
    heard: list[str] = []

    async def receiver(operation: Operation, **_named: Any) -> None:
        await asyncio.sleep(0)
        heard.append(operation.action)

    from asgiref.sync import sync_to_async

    browser = await sync_to_async(signed_in.browser)()
    client = AsyncClient(headers={"host": "shop.example"})
    client.cookies = browser.cookies
    with listening(receiver, operation_returned):
        response = await client.post("/abuy/", ORDER)

    assert response.status_code == 403
    assert heard == ["shop.buy"]
