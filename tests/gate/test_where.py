"""Every door decides by what it reads where operations are written, never by a replica."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.test import override_settings
from django.utils import timezone

from poppy_operations.background import perform_attempt
from poppy_operations.models import Operation, Revision
from tests.agents import ORDER, ApiClient, SessionOf, approval_of, reference
from tests.asking import price
from tests.configuring import configure
from tests.databases.routers import StaleRead
from tests.shop import operations as declared
from tests.shop import orders
from tests.shop.company import Strict
from tests.shop.operations import Behaviour, happen
from tests.shop.orders import api as behaviour

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("jacket")]
Effects = Callable[[], list[str]]


@contextmanager
def with_a_replica() -> Iterator[None]:
    """Let whatever reads our tables elsewhere than where they are written fail."""
    with override_settings(DATABASE_ROUTERS=["tests.databases.routers.Replica"]):
        yield


def test_a_read_that_forgets_where_we_write_would_be_seen() -> None:
    with with_a_replica(), pytest.raises(StaleRead):
        Operation.objects.count()


@pytest.mark.parametrize("path", ["/buy/", "/abuy/", "/class/", "/refund/", "/arefund/"])
def test_browsers_their_pages_and_the_endpoint(
    path: str, signed_out: SessionOf, effects: Effects
) -> None:
    browser = signed_out.browser()
    with with_a_replica():
        _, ref = reference(browser.post(path, ORDER))
        price("75.00")
        _, later = reference(browser.post(path, ORDER))
        signed_out.look_up(later)
        named = approval_of(signed_out.look_up(ref))
        for _ in range(2):
            assert signed_out.endpoint(later, named).status_code == 204
        price("70.00")
    watch = f"/poppy/waiting/{Revision.objects.get(ref=ref).watch}"
    with with_a_replica():
        assert browser.get(watch).json()["status"] == "approved"
        assert browser.post(path, ORDER).status_code == 302
        assert browser.get(watch).json()["status"] == "performed"
        assert signed_out.status(ref) == "performed"
    assert len(effects()) == 1


@pytest.mark.parametrize("path", ["/api/class/", "/api/transfer/"])
def test_the_api(
    path: str, signed_in: SessionOf, effects: Effects, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = ApiClient(signed_in, path)
    with with_a_replica():
        operation = api.ask()
        monkeypatch.setattr(behaviour, "needed", False)
        assert api.approve(operation).status_code in {200, 201}
        assert api.approve(operation).status_code in {200, 201}
    assert len(effects()) == 1


def test_a_decline_that_is_repeated(signed_in: SessionOf, settings: Any) -> None:
    configure(settings, COMPANY=f"{Strict.__module__}.{Strict.__name__}")
    api = ApiClient(signed_in)
    with with_a_replica():
        operation = api.ask()
        declined = [api.approve(operation, "agent").json() for _ in range(2)]
    assert declined[0]["reason"] == "Not by agents."
    assert declined[1] == declined[0]


def test_an_attempt_that_lapsed(signed_in: SessionOf, effects: Effects) -> None:
    api = ApiClient(signed_in)
    operation = api.ask()
    Operation.objects.update(
        state=Operation.State.PERFORMING,
        attempt="gone",
        effects="database",
        started_at=timezone.now(),
        lease_until=timezone.now() - timedelta(seconds=1),
    )
    with with_a_replica():
        assert api.approve(operation).status_code == 201
    assert len(effects()) == 1


def test_an_outcome_that_nobody_knows(signed_in: SessionOf, site: Behaviour) -> None:
    def hang_up(_operation: Any) -> None:
        message = "the gateway hung up"
        raise ConnectionError(message)

    signed_in.client.raise_request_exception = False  # Django's own report of the fault
    api = ApiClient(signed_in, "/api/transfer/")
    site.after_effect = hang_up
    with with_a_replica():
        operation = api.ask()
        assert [api.approve(operation).status_code for _ in range(2)] == [503, 503]


def test_a_worker_that_is_faster_than_the_request_that_began(
    signed_in: SessionOf, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declared, "queue", perform_attempt, raising=False)
    configure(settings, QUEUE="tests.shop.operations.queue")
    monkeypatch.setattr(orders.transfer, "background", True)
    monkeypatch.setattr(orders.transfer, "perform", lambda _: {"transferred": True})
    api = ApiClient(signed_in, "/api/transfer/")
    with with_a_replica():
        operation = api.ask()
        answer = api.approve(operation)
    assert (answer.status_code, answer.json()) == (200, {"transferred": True})


def test_a_worker(
    signed_out: SessionOf, settings: Any, monkeypatch: pytest.MonkeyPatch, effects: Effects
) -> None:
    messages: list[tuple[str, str]] = []
    monkeypatch.setattr(declared, "queue", lambda *sent: messages.append(sent), raising=False)
    configure(settings, QUEUE="tests.shop.operations.queue")
    monkeypatch.setattr(declared.refund, "background", True)
    monkeypatch.setattr(declared.refund, "perform", happen)
    browser = signed_out.browser()
    with with_a_replica():
        _, ref = reference(browser.post("/refund/", ORDER))
        signed_out.approve(ref)
        assert browser.post("/refund/", ORDER).status_code == 403
        assert perform_attempt(*messages[0])
        assert not perform_attempt(*messages[0])
        assert signed_out.status(ref) == "performed"
    assert len(effects()) == 1
