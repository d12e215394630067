"""Texts of statements are made once for each database, and hold nothing of a request."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection, connections
from django.db.models import Value
from django.db.models.sql import Query
from django.test import override_settings

from poppy_operations.gate.revisions import revision_of_watch
from poppy_operations.models import Operation, Revision
from poppy_operations.models.statements import Columns, Reading, given
from tests.agents import ORDER, ApiClient, SessionOf, reference
from tests.connections import need_connections_of_their_own, together
from tests.lifecycle.rows import NOW, returned

pytestmark = [pytest.mark.django_db, pytest.mark.database, pytest.mark.usefixtures("jacket")]


@contextmanager
def compiled() -> Iterator[list[str]]:
    """What Django makes the text of, of this package's rows."""
    made: list[str] = []
    real = Query.get_compiler

    def noted(query: Any, *arguments: Any, **named: Any) -> Any:
        if query.model._meta.app_label == "poppy_operations":
            made.append(f"{type(query).__name__} of {query.model.__name__}")
        return real(query, *arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Query, "get_compiler", noted)
        yield made


@pytest.mark.parametrize("path", ["/api/class/", "/api/plain/", "/api/transfer/", "/api/public/"])
def test_the_apis_requests_make_no_text_a_second_time(path: str, signed_in: SessionOf) -> None:
    def requests() -> None:
        api = ApiClient(signed_in, path)
        operation = api.ask()
        assert api.ask() == operation
        assert api.approve(operation).status_code in {200, 201}
        assert api.approve(operation).status_code in {200, 201}

    requests()
    with compiled() as made:
        requests()
    assert made == []


def test_the_websites_requests_make_no_text_a_second_time(signed_in: SessionOf) -> None:
    browser = signed_in.browser()

    def requests() -> None:
        _, ref = reference(browser.post("/buy/", ORDER))
        watch = Revision.objects.get(ref=ref).watch
        with compiled() as made:
            assert browser.get(f"/poppy/waiting/{watch}").json()["status"] == "waiting"
            signed_in.approve(ref)
            assert browser.post("/buy/", ORDER).status_code == 302
        # The join of a browser is read by Django: once in a request, by its key.
        texts.extend(one for one in made if one != "Query of Join")

    texts: list[str] = []
    requests()
    texts.clear()
    requests()
    assert texts == []


def test_each_shape_of_a_statement_and_each_way_with_times_has_a_text_of_its_own() -> None:
    made: list[int] = []

    def first(number: int) -> Any:
        made.append(number)
        named = [given(Operation, "slot", f"slot_{one}") for one in range(number)]
        return Operation.objects.filter(slot__in=named).order_by("slot")

    reading = Reading(first, "slot", "created_at")
    for slot in ("a", "b", "c"):
        returned(slot=slot)
    for _ in range(2):
        assert [row[0] for row in reading.rows(1, slot_0="b")] == ["b"]
        assert [row[0] for row in reading.rows(2, slot_0="c", slot_1="a")] == ["a", "c"]
    assert made == [1, 2]
    with override_settings(USE_TZ=not django_settings.USE_TZ):
        assert [row[0] for row in reading.rows(1, slot_0="b")] == ["b"]
    assert made == [1, 2, 1]


@pytest.mark.parametrize("use_tz", [True, False])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York"])
def test_instants_are_instants_whatever_the_site_says_of_times(use_tz: bool, zone: str) -> None:
    with override_settings(USE_TZ=use_tz, TIME_ZONE=zone):
        connection.ensure_timezone()
        revision = returned(interface="website")
        assert revision.watch is not None
        found = revision_of_watch(revision.watch)
        assert found is not None
        assert found.returned_at == NOW.astimezone(UTC)
        assert found.returned_at.utcoffset() == NOW.utcoffset()
        assert found.operation.created_at == NOW


def test_a_value_that_is_read_by_its_name_is_converted_too() -> None:
    returned()
    reading = Reading(
        lambda: Operation.objects.annotate(found=Value(True)), Columns(Operation), "found"
    )
    ((operation, found),) = reading.rows()
    assert found is True
    assert isinstance(operation.created_at, datetime)


def test_a_text_keeps_no_connection_of_a_thread_that_has_ended() -> None:
    need_connections_of_their_own()
    reading = Reading(lambda: Operation.objects.filter(pk=given(Operation, "id")), "id")

    def seen() -> weakref.ref[Any]:
        reading.rows(id=1)
        return weakref.ref(connections["default"])

    calls: list[Callable[[], weakref.ref[Any]]] = [seen]
    (of_the_thread,) = together(calls)
    gc.collect()
    assert of_the_thread() is None
    assert reading.rows(id=1) == []
