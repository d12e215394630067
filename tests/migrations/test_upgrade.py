"""Rows that version 0.1.0 wrote go on, whatever state they are in."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from poppy_operations.gate import earlier
from poppy_operations.models import Operation, Revision
from tests.agents import SessionOf, reference
from tests.agents import ORDER as API_ORDER
from tests.agents import ApiClient
from tests.agents import operation_in
from tests.shop.operations import Behaviour
from tests.agents import ORDER
from tests.asking import ask
from tests.asking import recorded

pytestmark = [pytest.mark.django_db, pytest.mark.database, pytest.mark.usefixtures("jacket")]
Effects = Callable[[], list[str]]
key_slots = import_module("poppy_operations.migrations.0002_keyed_slots").key_slots


def keyed(text: str, key: str) -> str:
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()


def target(action: str, route: str, arguments: str = "{}") -> str:
    """The text of a target as version 0.1.0 wrote it."""
    return (
        f'{{"action":"{action}","arguments":{arguments},"host":"shop.example","method":"POST",'
        f'"route":"{route}"}}'
    )


def as_of_0_1(target_text: str, key: str) -> None:
    """Give all rows the digests that version 0.1.0 would have written."""
    Revision.objects.update(
        target_digest=keyed(target_text, key),
        raw_digest=keyed("what it made of the request", key),
        content_digest=keyed("what it made of the content", key),
        content_fields=json.dumps({"sku": "0123456789abcdef", "target": "0123456789abcdef"}),
    )
    for operation in Operation.objects.exclude(slot=None):
        operation.slot = hashlib.sha256(operation.operation_id.encode()).hexdigest()
        operation.save()
    key_slots(apps, SimpleNamespace(connection=connection))


def begin(effects: str = "external") -> None:
    now = timezone.now()
    Operation.objects.update(
        state="performing",
        effects=effects,
        started_at=now,
        lease_until=now + timedelta(minutes=5),
        outcome_unknown_since=now,
    )


def test_what_was_performed_is_told_as_before(
    signed_in: SessionOf, settings: Any, effects: Effects
) -> None:
    api = ApiClient(signed_in)
    operation = api.ask()
    first = api.approve(operation)
    as_of_0_1(target("api.order", "api/class/"), settings.SECRET_KEY)

    again = api.approve(operation)
    assert (again.status_code, again.content) == (first.status_code, first.content)
    elsewhere = api.approve(operation, path="/api/plain/")
    assert (elsewhere.status_code, elsewhere.json()["status"]) == (200, "performed")

    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "new"
    assert api.approve(operation).content == first.content
    assert len(effects()) == 1


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "{}"),
        ({"name": 'a"$'}, '{"name":"a\\"$"}'),
        ({"pk": 100}, '{"pk":1e2}'),
        ({"pk": 0, "other": -1250}, '{"other":-125e1,"pk":0}'),
        ({"pk": 7, "on": True}, '{"on":true,"pk":7}'),
        ({"none": None}, '{"none":null}'),
    ],
)
def test_a_target_has_the_text_that_version_0_1_wrote(
    arguments: dict[str, Any], text: str, settings: Any
) -> None:
    before = {
        "action": "buy",
        "method": "POST",
        "host": "shop.example",
        "route": "a/",
        "arguments": arguments,
    }
    (found,) = earlier.target_digests(before)
    assert found == keyed(target("buy", "a/", text), settings.SECRET_KEY)


def test_what_waited_at_the_api_is_asked_anew(
    signed_in: SessionOf, settings: Any, effects: Effects
) -> None:
    api = ApiClient(signed_in)
    operation = api.ask()
    as_of_0_1(target("api.order", "api/class/"), settings.SECRET_KEY)

    anew = operation_in(api.approve(operation))
    assert anew["operation_id"] != operation["operation_id"]
    assert effects() == []
    assert api.approve(anew).status_code == 201
    assert len(effects()) == 1


def test_what_was_approved_for_a_browser_is_asked_anew(
    signed_out: SessionOf, settings: Any, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref, _ = recorded(signed_out, browser)
    as_of_0_1(target("shop.buy", "buy/"), settings.SECRET_KEY)

    anew = ask(browser)
    assert effects() == []
    assert signed_out.status(ref) == "approved"
    signed_out.approve(anew)
    assert browser.post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 1


def test_no_second_attempt_begins_beside_one_that_is_under_way_at_the_api(
    signed_in: SessionOf, settings: Any, effects: Effects
) -> None:
    api = ApiClient(signed_in, "/api/transfer/")
    operation = api.ask()
    as_of_0_1(target("api.transfer", "api/transfer/"), settings.SECRET_KEY)
    begin()
    assert api.send().status_code == 503
    assert api.approve(operation).status_code == 503
    assert api.send(body={**API_ORDER, "quantity": 2}).status_code == 403
    assert effects() == []


def test_no_second_attempt_begins_beside_one_that_is_under_way_on_the_website(
    signed_out: SessionOf, settings: Any, effects: Effects, site: Behaviour
) -> None:
    browser, other = signed_out.browser(), signed_out.browser()
    ref, _ = recorded(signed_out, browser, "/refund/")
    refs: list[str] = []

    def meanwhile(_operation: Any) -> None:
        as_of_0_1(target("shop.refund", "refund/"), settings.SECRET_KEY)
        for _ in range(2):
            refs.append(reference(other.post("/refund/", ORDER))[1])

    site.before_effect = meanwhile
    assert browser.post("/refund/", ORDER).status_code == 302
    assert refs[0] == refs[1] != ref
    assert {row.operation_id for row in Revision.objects.all()} == {Operation.objects.get().pk}
    assert signed_out.status(refs[0]) == "performed"
    assert len(effects()) == 1


def test_what_the_site_calls_one_action_stays_one(
    signed_in: SessionOf, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = signed_in.browser()
    ref = ask(browser, "/orders/7/exchange/")
    operation = Operation.objects.get()
    keys = [operation.owner_digest, "website", "", "shop.exchange", '{"same_action":["7"]}']
    text = json.dumps(keys, separators=(",", ":"))
    Operation.objects.update(slot=hashlib.sha256(text.encode()).hexdigest())
    Revision.objects.update(content_digest="0" * 64, raw_digest="0" * 64, target_digest="0" * 64)
    key_slots(apps, SimpleNamespace(connection=connection))

    assert ask(browser, "/orders/7/exchange/") != ref
    assert Operation.objects.get() == operation
    assert Revision.objects.count() == 2


def test_every_slot_is_keyed_however_many_there_are(
    signed_out: SessionOf, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    browser = signed_out.browser()
    for number in range(5):
        ask(browser, "/buy/", {**ORDER, "note": str(number)})
    Operation.objects.filter(pk=Operation.objects.earliest("pk").pk).update(slot=None)
    before = dict(Operation.objects.values_list("pk", "slot"))
    monkeypatch.setitem(key_slots.__globals__, "ROWS", 2)
    key_slots(apps, SimpleNamespace(connection=connection))
    for pk, slot in Operation.objects.values_list("pk", "slot"):
        expected = None if before[pk] is None else keyed(before[pk], settings.SECRET_KEY)
        assert slot == expected


def test_what_version_0_1_retired_is_read_no_more(signed_out: SessionOf) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    Revision.objects.update(retired_at=timezone.now())
    assert ask(browser) != ref
    assert Operation.objects.count() == 1
