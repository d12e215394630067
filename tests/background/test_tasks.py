"""Celery's tasks where they run at once, in the process that enqueues them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery, _state, current_app

from poppy_operations import maintenance, tasks
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.maintenance import Purged, Reconciled
from poppy_operations.models import Operation, Performance
from tests.background.agents import MakeJob
from tests.crash.site import Moments
from tests.source import ROOT

pytestmark = pytest.mark.django_db
both = pytest.mark.parametrize("effects", ["database", "external"])
doors = pytest.mark.parametrize("door", ["website", "api"])


@pytest.fixture(params=[True, False], ids=["propagating", "keeping"])
def eager(request: pytest.FixtureRequest) -> Iterator[Celery]:
    """An app whose tasks run at once, and raise their faults where they are enqueued, or not."""
    before = current_app._get_current_object()
    app = Celery("eager", broker="memory://", set_as_current=True)
    app.conf.update(task_always_eager=True, task_eager_propagates=request.param)
    yield app
    app.close()
    _state._set_current_app(before)


@both
@doors
def test_in_eager_mode_the_result_is_there_at_once(
    job: MakeJob, eager: Celery, door: str, effects: str
) -> None:
    mine = job(door, effects)
    answer = mine.send()
    assert answer.status_code == 200
    assert mine.times == 1
    assert mine.is_done()
    if door == "api":
        assert json.loads(answer.content) == {"done": mine.operation_id}
        assert mine.send().content == answer.content

    assert Performance.objects.get().how == "finished"


@both
def test_in_eager_mode_a_fault_is_what_it_is_in_a_worker(
    job: MakeJob, eager: Celery, ordinary: Moments, effects: str
) -> None:
    def fault() -> None:
        message = "a fault of the site's"
        raise RuntimeError(message)

    mine = job(effects=effects)
    mine.session.client.raise_request_exception = False
    ordinary.before_effect = fault
    assert mine.send().status_code == 503
    unknown = effects == "external"
    row = Operation.objects.get()
    assert (row.state, row.outcome_unknown_since is not None) == (
        "performing" if unknown else "open",
        unknown,
    )
    ordinary.before_effect = lambda: None
    if unknown:
        assert maintenance.reconcile().not_performed == 1

    assert mine.send().status_code == 200
    assert mine.times == 1


def test_a_message_that_comes_twice_is_acknowledged_and_does_nothing(
    job: MakeJob, eager: Celery
) -> None:
    mine = job()
    mine.send()
    attempt = Operation.objects.get().attempt

    assert tasks.perform.delay(mine.operation_id, attempt).successful()
    assert mine.times == 1


def test_maintenance_is_a_task_each(eager: Celery, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance, "purge", lambda: Purged(1, 2))
    monkeypatch.setattr(maintenance, "reconcile", lambda: Reconciled(freed=3))
    monkeypatch.setattr(maintenance, "requeue", lambda: 4)

    assert tasks.purge.delay().get() == {"operations": 1, "joins": 2}
    assert tasks.reconcile.delay().get()["freed"] == 3
    assert tasks.requeue.delay().get() == 4


def test_a_task_that_cannot_do_its_work_has_failed(eager: Celery, monkeypatch: Any) -> None:
    def busy() -> None:
        raise Busy

    monkeypatch.setattr(maintenance, "purge", busy)
    with pytest.raises(Busy):
        tasks.purge.delay().get()


def test_the_names_for_schedules_are_those_of_the_tasks(eager: Celery) -> None:
    names = {name for name in eager.tasks if name.startswith("poppy_operations.")}

    assert names == {
        f"poppy_operations.{name}" for name in ("perform", "purge", "reconcile", "requeue")
    }
    assert tasks.__doc__ is not None
    assert all(name in tasks.__doc__ for name in names - {"poppy_operations.perform"})
    assert tasks.perform.acks_late
    assert tasks.perform.reject_on_worker_lost
    assert tasks.perform.ignore_result


@pytest.mark.parametrize("url", ["amqp://guest:guest@127.0.0.1:1//", "redis://127.0.0.1:1/0"])
@both
@doors
def test_a_broker_that_is_down_loses_nothing(
    job: MakeJob, url: str, door: str, effects: str
) -> None:
    before = current_app._get_current_object()
    app = Celery("down", broker=url, set_as_current=True)
    mine = job(door, effects)
    try:
        answer = mine.send()
    finally:
        app.close()
        _state._set_current_app(before)
    assert answer.status_code == 503
    assert int(answer["Retry-After"]) > 0
    assert Operation.objects.get().state == "open"

    up = Celery("up", broker="memory://", set_as_current=True)
    up.conf.task_always_eager = True
    try:
        assert mine.send().status_code == 200
    finally:
        up.close()
        _state._set_current_app(before)
    assert mine.times == 1


WITHOUT_CELERY = """
import sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in {"celery", "kombu"}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
import django
django.setup()
import pkgutil, importlib
import poppy_operations
for module in pkgutil.walk_packages(poppy_operations.__path__, "poppy_operations."):
    if module.name != "poppy_operations.tasks":
        importlib.import_module(module.name)
from django.core.management import call_command
call_command("check")
"""


@pytest.mark.slow
def test_everything_but_the_tasks_works_without_celery() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WITHOUT_CELERY],
        cwd=ROOT,
        env={"DJANGO_SETTINGS_MODULE": "tests.settings", "PATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
