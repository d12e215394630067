"""What a worker's process runs: Django, the tests' site, and moments to die at."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import django
from celery.signals import task_prerun

from tests.background.app import BROKER, FOLDER, QUEUE, celery_app

django.setup()

from tests.crash.site import moments, stores  # noqa: E402  once Django is there

stores.folder = Path(os.environ[FOLDER])
app = celery_app(os.environ[BROKER], os.environ[QUEUE])
app.set_default()
app.autodiscover_tasks(["poppy_operations"])


def die_once(moment: str, **_named: Any) -> None:
    """Die as a power cut would, where a file says so; the next worker finds none."""
    mark = stores.folder / f"die-{moment}"
    if mark.exists():
        mark.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


moments.before_effect = partial(die_once, "before-effect")
moments.after_effect = partial(die_once, "after-effect")
task_prerun.connect(partial(die_once, "before-start"), weak=False)
