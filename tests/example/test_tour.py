"""The tour and the demo agent, whole."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from example_project.tour.browser import Browser
from example_project.tour.commands import PROJECT, run_command
from example_project.tour.server import free_port

pytestmark = pytest.mark.servers


def test_the_tour_ends_without_a_surprise() -> None:
    told = run_command("tour", "--json", environment=os.environ)
    *steps, last = [json.loads(line) for line in told.splitlines()]
    assert last == {"result": "ok", "steps": len(steps)}
    assert [step["step"] for step in steps] == list(range(1, len(steps) + 1))


@pytest.fixture
def demo_agent(tmp_path: Path) -> Iterator[str]:
    """Serve what ``make demo`` serves, and give the demo agent's address."""
    port = free_port()
    environment = {**os.environ, "PORT": str(port), "POPPY_DEMO_VAR": str(tmp_path)}
    for name in ("DATABASE_URL", "POPPY_ISSUER"):
        environment.pop(name, None)
    run_command("migrate", "--verbosity=0", environment=environment)
    run_command("demo_seed", environment=environment)
    process = subprocess.Popen(
        [sys.executable, "manage.py", "demo_serve"],
        cwd=PROJECT,
        env={**environment, "DJANGO_SETTINGS_MODULE": "example_project.settings"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until_it_answers(f"http://127.0.0.1:{port}/")
        until_it_answers(f"http://127.0.0.1:{port + 1}/")
        yield f"http://127.0.0.1:{port + 1}/"
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


def until_it_answers(url: str) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            Browser().open(url)
        except OSError:
            assert time.monotonic() < deadline, f"{url} does not answer"
            time.sleep(0.05)
        else:
            return


def press(browser: Browser, words: str, **values: str) -> str:
    """Press the button with these words, and give the words of the page that follows."""
    for form in browser.page.forms:
        for button in form.buttons:
            if words in button.text:
                browser.submit(form, values, button)
                return browser.page.words
    message = f"no button {words!r} on: {browser.page.words}"
    raise AssertionError(message)


def test_a_newcomer_clicks_through_the_story(demo_agent: str) -> None:
    browser = Browser()
    browser.open(demo_agent)
    assert "I used the ticket" in press(browser, "Let the agent's browser into the shop")
    assert "for $70.00 more" in press(browser, "Send the form", sku="stormline-insulated-m")
    press(browser, "Approve")
    press(browser, "The shop raises the price")
    assert "for $75.00 more" in press(browser, "presses Continue")
    press(browser, "Approve")
    pressed = press(browser, "presses Continue")
    assert "I pressed Continue. The shop asked for no approval." in pressed
    assert "it is performed" in browser.page.words
    assert "a second time" in press(browser, "Send the form", sku="stormline-insulated-m")
    assert "for $80.00 more" in press(browser, "Send the form", sku="stormline-insulated-l")
    assert "I send nothing." in press(browser, "No")
    assert "Let the agent's browser" in press(browser, "Begin again")
