"""The site of background actions, and agents for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents import SessionOf
from tests.background.agents import Job, MakeJob
from tests.crash.site import Moments, moments, nothing, stores


@pytest.fixture(autouse=True)
def places(settings: Any, tmp_path: Path) -> Iterator[Path]:
    """The site's addresses, and a folder for what is outside of the database."""
    settings.ROOT_URLCONF = "tests.crash.site"
    before, stores.folder = stores.folder, tmp_path
    yield tmp_path
    stores.folder = before
    moments.before_effect = moments.after_effect = nothing


@pytest.fixture
def ordinary() -> Moments:
    """What happens inside the actions beside themselves."""
    return moments


@pytest.fixture
def job(places: Path, session_of: Callable[..., SessionOf]) -> MakeJob:
    """Have an action approved."""

    def make(door: str = "api", effects: str = "database", **options: Any) -> Job:
        return Job(session_of(), door, effects, **options)

    return make
