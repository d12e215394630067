"""Ways through the gate that few requests take."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from django.http import HttpRequest
from django.test import RequestFactory
from rest_framework import serializers

from poppy_operations.declarations.callables import takes
from poppy_operations.doors.arguments import _named_by
from poppy_operations.doors.http_uploads import note_uploads
from poppy_operations.gate import decision
from poppy_operations.gate.answers import StillPerforming
from poppy_operations.gate.callers import Caller
from poppy_operations.gate.meaning import MISSING
from poppy_operations.gate.meant_by_serializers import _meant, serializer_parts
from poppy_operations.gate.parts import sent_parts
from poppy_operations.gate.uploads import resolved
from poppy_operations.lifecycle.durable import OuterTransaction
from poppy_operations.logs import _Escapes
from poppy_operations.protocol import interfaces
from poppy_operations.protocol.content import DEEPEST_CONTENT
from tests.agents import SessionOf
from tests.connections import be_atomic

UNDER_WAY = StillPerforming("op_1", 2)


class Shown(serializers.Serializer[Any]):
    """Something nested."""

    name = serializers.CharField()


def recorded_without_repeats() -> Any:
    """Findings at an interface that records approvals, and tells a repeat to wait."""
    return SimpleNamespace(call=None, caller=Caller(interfaces.REVIEW, None), rows=None)


def test_at_some_interfaces_a_repeat_of_what_is_under_way_is_told_to_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    operation = SimpleNamespace(operation_id="op_1", outcome_unknown_since=None)
    row = SimpleNamespace(operation=operation)
    findings = recorded_without_repeats()
    findings.call = SimpleNamespace(is_sent_again=lambda row, owner: True)
    monkeypatch.setattr(decision, "_picture", lambda call, owner: [row])
    monkeypatch.setattr(decision, "is_in_use", lambda row: True)
    assert decision._repeated(findings, SimpleNamespace()) == UNDER_WAY  # type: ignore[arg-type]  # any owner
    assert decision._under_way(findings, SimpleNamespace(), UNDER_WAY) is UNDER_WAY  # type: ignore[arg-type]  # any attempt


def test_a_function_that_does_not_show_what_it_takes_may_take_anything() -> None:
    assert takes(max, 1)
    assert _named_by(max) is None


def test_a_body_that_was_begun_to_be_read_is_left_alone() -> None:
    request: Any = RequestFactory().post("/", {"a": "b"})
    request.read(1)
    handlers = list(request.upload_handlers)
    note_uploads(request)
    assert list(request.upload_handlers) == handlers


def test_content_that_is_no_object_is_compared_as_it_was_sent() -> None:
    serializer = Shown(data={"name": "a"})
    assert serializer.is_valid()
    parts = serializer_parts(serializer, ["a"], is_form=False, ignore=())
    assert parts == sent_parts(["a"])
    assert _meant(Shown(), "a", {"name": "a"}, ()) is MISSING


def test_what_is_nested_too_deep_is_left_as_it_is() -> None:
    value: Any = "innermost"
    for _ in range(DEEPEST_CONTENT + 3):
        value = [value]
    found: Any = resolved(value)
    for _ in range(DEEPEST_CONTENT + 3):
        (found,) = found
    assert found == "innermost"


def test_a_record_about_nothing_passes_as_it_is() -> None:
    record = logging.LogRecord("poppy_operations", logging.INFO, "", 1, "a\nb", None, None)
    assert _Escapes().filter(record)
    assert record.args is None


@pytest.mark.django_db
@pytest.mark.urls("tests.website.test_within")
def test_under_atomic_requests_a_view_cannot_leave_its_work_to_another_gated_one(
    signed_out: SessionOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_atomic(monkeypatch, atomic=True)
    browser = signed_out.browser()
    with pytest.raises(OuterTransaction):
        browser.post("/round/500/")


def test_a_request_without_uploads_notes_none() -> None:
    note_uploads(HttpRequest())
