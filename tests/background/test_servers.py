"""Celery with real brokers and real worker processes: killed, doubled, and late (7)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import time_machine
from django.utils import timezone

from poppy_operations import maintenance
from poppy_operations.models import Operation
from tests.background.agents import Job, MakeJob
from tests.background.workers import BROKERS, Workers, until, workers
from tests.connections import need_connections_of_their_own

pytestmark = [pytest.mark.servers, pytest.mark.django_db(transaction=True)]
both = pytest.mark.parametrize("effects", ["database", "external"])


@pytest.fixture(params=BROKERS)
def celery(
    request: pytest.FixtureRequest, transactional_db: None, places: Path
) -> Iterator[Workers]:
    """Workers on each broker, beside a database that they reach."""
    need_connections_of_their_own()
    with workers(request.param, places) as found:
        yield found


def attempt_of(job: Job) -> str:
    return Operation.objects.get(operation_id=job.operation_id).attempt


def state_of(job: Job) -> str:
    return str(Operation.objects.get(operation_id=job.operation_id).state)


def test_workers_perform_what_agents_had_approved(celery: Workers, job: MakeJob) -> None:
    kinds = [(door, effects) for door in ("website", "api") for effects in ("database", "external")]
    jobs = [job(door, effects) for door, effects in kinds]
    for one in jobs:
        assert one.send().status_code == (403 if one.door == "website" else 503)
        assert not one.is_done()
    assert [one.times for one in jobs] == [0] * 4
    celery.start()
    for one in jobs:
        until(one.is_done)

    assert [one.times for one in jobs] == [1] * 4
    answer = jobs[2].send()
    assert (answer.status_code, json.loads(answer.content)) == (
        200,
        {"done": jobs[2].operation_id},
    )
    # A browser that repeats what is done asks for something new.
    assert jobs[0].send().status_code == 403
    assert jobs[0].times == 1


def test_a_message_that_is_delivered_twice_does_nothing_twice(
    celery: Workers, job: MakeJob
) -> None:
    mine, last = job(effects="external"), job(effects="external", thing="last")
    mine.send()
    for _ in range(3):
        celery.send(mine.operation_id, attempt_of(mine))
    celery.start()
    celery.start()
    until(mine.is_done)
    celery.send(mine.operation_id, attempt_of(mine))
    last.send()
    until(last.is_done)  # what was sent before it was taken before it

    assert mine.times == 1


@both
def test_a_worker_that_is_killed_before_the_start_loses_nothing(
    celery: Workers, job: MakeJob, effects: str
) -> None:
    mine = job(effects=effects)
    mark = celery.mark("before-start")
    mine.send()
    killed = celery.start()
    until(lambda: killed.poll() is not None)
    assert not mark.exists()
    assert (mine.times, Operation.objects.get().started_at) == (0, None)
    celery.start()  # the broker delivers the message again
    until(mine.is_done)

    assert mine.times == 1


@pytest.mark.parametrize("moment", ["before-effect", "after-effect"])
@both
def test_a_worker_that_is_killed_in_the_action_has_its_effect_once(
    celery: Workers, job: MakeJob, effects: str, moment: str
) -> None:
    mine = job(effects=effects)
    celery.mark(moment)
    mine.send()
    killed = celery.start()
    until(lambda: killed.poll() is not None)
    assert state_of(mine) == "performing"
    happened = effects == "external" and moment == "after-effect"
    assert mine.times == (1 if happened else 0)
    celery.start()  # the same message comes again, and finds the attempt started
    if happened or effects == "external":
        assert mine.send().status_code == 503
    with time_machine.travel(timezone.now() + timedelta(seconds=20), tick=True):
        ends = maintenance.reconcile()
        assert (ends.performed, ends.not_performed, ends.freed) == (
            int(happened),
            int(effects == "external" and not happened),
            int(effects == "database"),
        )
        until(lambda: mine.send().status_code in {200, 201})

    assert mine.times == 1


def test_a_child_that_is_killed_gives_its_message_back(celery: Workers, job: MakeJob) -> None:
    mine = job(effects="external")
    mark = celery.mark("before-start")
    mine.send()
    worker = celery.start(pool="prefork")
    until(mine.is_done)

    assert not mark.exists()
    assert worker.poll() is None
    assert mine.times == 1


def test_a_message_that_was_lost_is_sent_again_by_maintenance(
    celery: Workers, job: MakeJob
) -> None:
    mine = job()
    mine.send()
    celery.app.control.purge()
    celery.start()
    with time_machine.travel(timezone.now() + timedelta(minutes=5), tick=True):
        assert maintenance.requeue() == 1
        until(mine.is_done)

    assert mine.times == 1
