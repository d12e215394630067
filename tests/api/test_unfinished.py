"""A site's own answer while work has not finished, in place of 503 (7)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from rest_framework.response import Response

from poppy_operations import Company
from poppy_operations.models import Operation
from tests.agents import ORDER, ApiClient, approval_of
from tests.configuring import configure
from tests.shop.operations import Behaviour
from tests.shop.orders import ApiBehaviour

pytestmark = pytest.mark.usefixtures("transactions")
Effects = Callable[[], list[str]]


class Queues(Company):
    """Answers unfinished work with the address of its state, in whatever form a test says."""

    answer: Callable[[str], HttpResponse | None]

    def unfinished(self, request: HttpRequest, operation_id: str) -> HttpResponse | None:
        """Say where to look, if this is somebody whom the site knows."""
        assert request.user.is_authenticated
        return Queues.answer(operation_id)


@pytest.fixture
def company(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the site answer unfinished work its own way."""
    configure(settings, COMPANY=f"{__name__}.{Queues.__name__}")

    def answers(answer: Callable[[str], HttpResponse | None]) -> None:
        monkeypatch.setattr(Queues, "answer", staticmethod(answer), raising=False)

    return answers


def accepted(operation_id: str) -> HttpResponse:
    """An answer for work that has not finished."""
    job = f"/api/jobs/{operation_id}"
    return JsonResponse({"job": job}, status=202, headers={"Location": job})


def begun_elsewhere() -> None:
    Operation.objects.update(
        state=Operation.State.PERFORMING,
        attempt="elsewhere",
        effects="external",
        started_at=timezone.now(),
        lease_until=timezone.now() + timedelta(minutes=1),
    )


@pytest.mark.requirement("OPS-7-10")
@pytest.mark.parametrize(
    "answer",
    [accepted, lambda operation_id: Response({"job": f"/api/jobs/{operation_id}"}, 202)],
    ids=["django", "rest framework"],
)
def test_unfinished_work_is_answered_as_the_site_does(
    answer: Callable[[str], HttpResponse],
    company: Callable[..., None],
    agents_api: ApiClient,
    effects: Effects,
) -> None:
    company(answer)
    operation = agents_api.ask()
    begun_elsewhere()
    for waiting in (agents_api.approve(operation), agents_api.send()):
        assert waiting.status_code == 202
        assert waiting.json() == {"job": f"/api/jobs/{operation['operation_id']}"}
        assert "no-store" in waiting["Cache-Control"]
    assert effects() == []


@pytest.mark.parametrize(
    ("kind", "lease_s", "status"),
    [("database", -1, 201), ("database", 60, 503), ("external", -1, 503)],
    ids=["lapsed", "under way", "unknown"],
)
def test_a_lapsed_attempt_does_not_hold_up_a_request_that_needs_no_approval_by_now(
    kind: str,
    lease_s: int,
    status: int,
    agents_api: ApiClient,
    shop: ApiBehaviour,
    effects: Effects,
) -> None:
    agents_api.ask()
    begun_elsewhere()
    lease_until = timezone.now() + timedelta(seconds=lease_s)
    Operation.objects.update(effects=kind, lease_until=lease_until)
    shop.needed = False

    assert agents_api.send().status_code == status
    passes = status == 201
    assert effects() == ["api.order 1 jacket"] * passes
    assert Operation.objects.get().state == ("open" if passes else "performing")


@pytest.mark.requirement("OPS-7-10")
def test_the_request_that_performs_is_answered_so_too_and_later_by_what_was_done(
    company: Callable[..., None], agents_api: ApiClient, site: Behaviour, effects: Effects
) -> None:
    company(accepted)
    operation = agents_api.ask()
    during: list[Any] = []

    def meanwhile(current: Any) -> None:
        headers = agents_api.session.headers(approval_of(operation))
        during.append(agents_api.session.client.post(agents_api.path, ORDER, headers=headers))

    site.after_effect = meanwhile
    agents_api.session.client.raise_request_exception = False
    first = agents_api.approve(operation)
    again = agents_api.approve(operation)

    assert [answer.status_code for answer in during] == [202]
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content
    assert effects() == ["api.order 1 jacket"]


def refuse(operation_id: str) -> HttpResponse:
    """A fault of the site's."""
    message = "no jobs"
    raise LookupError(message)


@pytest.mark.requirement("OPS-7-08", "OPS-7-09")
@pytest.mark.parametrize(
    ("answer", "logged"),
    [
        (lambda operation_id: None, None),
        (refuse, "Company.unfinished failed."),
        (lambda operation_id: {"state": "running"}, "Company.unfinished failed."),
        (lambda operation_id: HttpResponse(status=404), "answered 404, a failure"),
        (lambda operation_id: HttpResponse(status=503), "answered 503, a failure"),
    ],
    ids=["none", "raises", "object", "404", "503 without Retry-After"],
)
def test_nothing_that_reads_like_a_failure_is_sent(
    answer: Callable[[str], Any],
    logged: str | None,
    company: Callable[..., None],
    agents_api: ApiClient,
    caplog: pytest.LogCaptureFixture,
) -> None:
    company(answer)
    operation = agents_api.ask()
    begun_elsewhere()
    waiting = agents_api.approve(operation)

    assert (waiting.status_code, waiting["Retry-After"]) == (503, "2")
    assert waiting.json() == {"operation_id": operation["operation_id"], "status": "performing"}
    told = [record.message for record in caplog.records if record.levelno == logging.ERROR]
    assert len(told) == (logged is not None)
    assert logged is None or logged in told[0]


def test_a_503_of_the_sites_own_says_when_to_come_again(
    company: Callable[..., None], agents_api: ApiClient
) -> None:
    company(lambda operation_id: HttpResponse(status=503, headers={"Retry-After": "7"}))
    operation = agents_api.ask()
    begun_elsewhere()
    waiting = agents_api.approve(operation)

    assert (waiting.status_code, waiting["Retry-After"], waiting.content) == (503, "7", b"")


def test_nobody_is_told_of_what_they_may_not_approve(
    company: Callable[..., None], agents_api: ApiClient, signed_out_api: ApiClient
) -> None:
    company(refuse)
    operation = agents_api.ask()
    begun_elsewhere()

    assert signed_out_api.approve(operation).status_code == 401
