"""What mails to ADMINS show of background work, of hooks and of receivers."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from typing import Any, NoReturn

import pytest
from celery import Celery, _state, current_app
from django.db import OperationalError
from django.http import HttpResponse

from poppy_operations import Performed, background, maintenance, signals
from tests.background.agents import Job, MakeJob
from tests.configuring import configure
from tests.crash import site as crash
from tests.crash.site import Moments
from tests.mails import Mailbox, failing_statements, mails, secrets_kept, shown

pytestmark = pytest.mark.django_db
both = pytest.mark.parametrize("effects", ["database", "external"])

ACTIONS = {"database": crash.in_database_later, "external": crash.outside_later}
SECRET = secrets.token_hex(8)


taken: list[tuple[str, str]] = []


def take(operation_id: str, attempt: str) -> None:
    """A queue of the site's own."""
    taken.append((operation_id, attempt))


def work(operation_id: str, attempt: str) -> None:
    """A worker of that queue, which reports on what fails."""
    try:
        background.perform_attempt(operation_id, attempt)
    except (Fault, OperationalError):
        logging.getLogger("celery").exception("A job failed.")


class Fault(Exception):
    """A fault of the site's own."""


def fails(*_: Any, **__: Any) -> NoReturn:
    """A fault; it takes nothing into a variable of its own."""
    raise Fault


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    """What is sent to ADMINS of what Django, Celery and this package log."""
    with mails() as found:
        yield found


@pytest.fixture(autouse=True)
def nothing_taken() -> None:
    """The queue begins empty."""
    taken.clear()


@pytest.fixture
def celery() -> Iterator[Celery]:
    """Workers in this process, whose faults stay with them, as elsewhere."""
    before = current_app._get_current_object()
    app = Celery("reports", broker="memory://", set_as_current=True)
    app.conf.update(task_always_eager=True, task_eager_propagates=False)
    yield app
    app.close()
    _state._set_current_app(before)


def hidden(job: MakeJob, effects: str) -> Job:
    """An approved action whose terms are nobody's business."""
    mine = job(effects=effects, thing=SECRET)
    mine.session.client.raise_request_exception = False
    return mine


def check(mailbox: Mailbox, *ours: str) -> None:
    """The mails tell of the fault and of our frames, and show no secret."""
    assert "Fault" in mailbox.told
    for name in ours:
        assert name in mailbox.told
    found = {SECRET, *secrets_kept()}
    assert len(found) > 2
    assert shown(found, mailbox.told) == []


@both
def test_a_mail_about_a_worker_shows_nothing_of_its_operation(
    effects: str, job: MakeJob, celery: Celery, ordinary: Moments, mailbox: Mailbox
) -> None:
    mine = hidden(job, effects)
    ordinary.before_effect = fails
    mine.send()
    check(mailbox, "gate/performing/")


@both
def test_nor_does_one_that_another_queue_writes(
    effects: str, job: MakeJob, ordinary: Moments, mailbox: Mailbox, settings: Any
) -> None:
    configure(settings, QUEUE=f"{__name__}.take")
    mine = hidden(job, effects)
    mine.send()
    ordinary.before_effect = fails
    for message in taken:
        work(*message)
    check(mailbox, "gate/performing/")


@pytest.mark.parametrize("hook", ["still", "perform"])
def test_nor_does_one_about_a_hook_of_the_workers(
    hook: str, job: MakeJob, celery: Celery, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = hidden(job, "database")
    monkeypatch.setattr(crash.in_database_later, hook, fails)
    mine.send()
    check(mailbox, "gate/performing/")


def test_nor_does_one_about_a_hook_that_reconciles(
    job: MakeJob,
    celery: Celery,
    ordinary: Moments,
    mailbox: Mailbox,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mine = hidden(job, "external")
    ordinary.before_effect = fails
    mine.send()
    mailbox.mails.clear()
    monkeypatch.setattr(crash.outside_later, "reconcile_hook", fails)
    assert maintenance.reconcile().still_unknown == 1
    check(mailbox, "_reconciled")


def test_nor_does_one_about_a_receiver(job: MakeJob, celery: Celery, mailbox: Mailbox) -> None:
    told = [signals.operation_returned, signals.operation_performed]
    for signal in told:
        signal.connect(fails, weak=False)
    try:
        mine = hidden(job, "database")
        mine.send()
    finally:
        for signal in told:
            signal.disconnect(fails)
    assert mailbox.told.count("A signal receiver failed") > 1
    check(mailbox, "send_robust")


@both
def test_nor_does_one_about_the_database_of_a_worker(
    effects: str,
    job: MakeJob,
    mailbox: Mailbox,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
) -> None:
    configure(settings, QUEUE=f"{__name__}.take")
    mine = hidden(job, effects)
    mine.send()
    monkeypatch.setattr(
        ACTIONS[effects], "perform", lambda operation: HttpResponse(headers={"X-Code": SECRET})
    )
    with failing_statements("poppy_operations_performance"):
        work(*taken[0])
    assert "refuse" in mailbox.told
    assert shown({SECRET, *secrets_kept()}, mailbox.told) == []


def test_nor_does_one_about_the_database_of_maintenance(
    job: MakeJob,
    celery: Celery,
    ordinary: Moments,
    mailbox: Mailbox,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mine = hidden(job, "external")
    ordinary.before_effect = fails
    mine.send()
    mailbox.mails.clear()
    found = Performed({"code": SECRET})
    monkeypatch.setattr(crash.outside_later, "reconcile_hook", lambda operation: found)
    with failing_statements("poppy_operations_performance"):
        assert maintenance.reconcile().still_unknown == 1
    assert "refuse" in mailbox.told
    assert shown({SECRET, *secrets_kept()}, mailbox.told) == []
