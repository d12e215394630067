"""The shop and the demo agent as ``make demo`` serves them, and Chromium in front of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from example_project.tour.server import Server
from tests.browser_story.agent import AgentAtWork, until_it_answers
from tests.browser_story.tabs import Tabs
from tests.chromium import chromium_running

DEMO = ("manage.py", "demo_serve")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of it needs Chromium."""
    for item in items:
        if "tests/browser_story/" in item.path.as_posix():
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    with chromium_running() as browser:
        yield browser


@pytest.fixture(scope="session")
def demo() -> Iterator[Server]:
    """The demo; its agent is on the next port."""
    with Server(DEMO) as server:
        until_it_answers(f"http://127.0.0.1:{server.port + 1}/")
        yield server


@pytest.fixture
def shop(demo: Server) -> Server:
    """The shop as it begins."""
    demo.command("demo_seed", "--reset")
    return demo


@pytest.fixture
def agent(shop: Server) -> AgentAtWork:
    """A Personal Agent on the shop's list, signed in as Alice."""
    return AgentAtWork(shop)


@pytest.fixture
def tabs(chromium: Any) -> Iterator[Tabs]:
    """A browser of its own, in which nothing may go wrong unseen."""
    with Tabs(chromium) as opened:
        yield opened
