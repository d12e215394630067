"""The tour's own browser and narrator, without a server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from io import StringIO

import pytest

from example_project.tour.browser import Browser, TooManyRedirects
from example_project.tour.commands import PROJECT
from example_project.tour.narration import Narrator, Surprise, expect
from example_project.tour.pages import Page
from example_project.tour.web import Answer

SHOP = "http://127.0.0.1:4711"
PAGE = """<!doctype html><title>An order</title><style>p { }</style>
<form method="post" action="/out/"><button>Sign out</button></form>
<form method="post" action="exchange/">
<input type="hidden" name="item_id" value="itm_4Qa"><input name="note" value="a&amp;b">
<input type="checkbox" name="gift"><input type="checkbox" name="wrap" checked>
<select name="sku"><option value="">Choose</option><option value="m" selected>M</option></select>
<select name="colour"><option value="red">Red</option></select>
<textarea name="words">
two
lines</textarea>
<input type="submit" name="how" value="Slowly"><button name="how" value="fast">Quickly</button>
</form><p hidden>Not <br>yet.</p><p>That is all.</p>"""


def test_a_page_is_read_with_the_values_that_its_form_would_send() -> None:
    page = Page(f"{SHOP}/orders/1/", PAGE)
    form = page.form_with("item_id", "itm_4Qa")
    assert form is not None
    assert page.title == "An order"
    assert page.words.endswith("Quickly That is all.")
    assert page.form_with("item_id", "another") is None
    assert [button.text for button in form.buttons] == ["Slowly", "Quickly"]
    assert form.filled({"sku": "l"}, form.buttons[1]) == [
        ("item_id", "itm_4Qa"),
        ("note", "a&b"),
        ("wrap", "on"),
        ("sku", "l"),
        ("colour", "red"),
        ("words", "two\nlines"),
        ("how", "fast"),
    ]


Sent = list[tuple[str, str, Mapping[str, str], bytes | None]]
Serve = Callable[..., Sent]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Let a browser get these answers, one after the other; returns what it sent."""

    def answers(*given: tuple[int, dict[str, str], str]) -> Sent:
        sent: Sent = []
        left = iter(given)

        def send(
            method: str, url: str, headers: Mapping[str, str], body: bytes | None = None
        ) -> Answer:
            sent.append((method, url, headers, body))
            status, answered, text = next(left)
            return Answer(method, url, status, tuple(answered.items()), text.encode())

        monkeypatch.setattr("example_project.tour.browser.send", send)
        return sent

    return answers


def test_the_browser_sends_what_browsers_send_and_follows_with_get(serve: Serve) -> None:
    sent = serve(
        (200, {"Set-Cookie": "sessionid=abc; Path=/; HttpOnly"}, PAGE),
        (303, {"Location": "/orders/1/", "Set-Cookie": "sessionid=; Max-Age=0"}, ""),
        (200, {}, PAGE),
    )
    browser = Browser()
    browser.open(f"{SHOP}/orders/1/")
    form = browser.page.form_with("item_id")
    assert form is not None
    answer = browser.submit(form, {"sku": "l"}, form.buttons[1])
    assert answer.line == "GET /orders/1/ -> 200"
    opened, submitted, followed = sent
    assert opened[2]["Sec-Fetch-Site"] == "none"
    assert "Origin" not in opened[2]
    assert submitted[:2] == ("POST", f"{SHOP}/orders/1/exchange/")
    assert submitted[2]["Origin"] == SHOP
    assert submitted[2]["Sec-Fetch-Site"] == "same-origin"
    assert submitted[2]["Cookie"] == "sessionid=abc"
    assert followed[0] == "GET"
    assert "Cookie" not in followed[2]


def test_a_page_without_referrer_sends_a_null_origin(serve: Serve) -> None:
    sent = serve((200, {"Referrer-Policy": "no-referrer"}, PAGE), (200, {}, ""))
    browser = Browser()
    browser.open(f"{SHOP}/orders/1/")
    form = browser.page.forms[0]
    browser.submit(form)
    assert sent[1][2]["Origin"] == "null"
    assert "Referer" not in sent[1][2]


def test_a_circle_of_redirects_ends(serve: Serve) -> None:
    serve(*[(302, {"Location": "/"}, "")] * 10)
    with pytest.raises(TooManyRedirects):
        Browser().open(f"{SHOP}/")


def test_the_story_is_told_in_numbered_steps() -> None:
    out = StringIO()
    narrator = Narrator(out)
    narrator.chapter("They meet")
    narrator.step("The agent says hello.", answer={"hello": "you"}, request="GET / -> 200")
    narrator.end()
    told = out.getvalue()
    assert "1. They meet\n------------\n" in told
    assert "  1. The agent says hello.\n" in told
    assert '"hello": "you"' in told
    assert "request: GET / -> 200" in told


def test_machines_get_an_object_a_line_to_the_end() -> None:
    out = StringIO()
    narrator = Narrator(out, machine=True)
    narrator.chapter("They meet")
    narrator.step("The agent says hello.", status=200)
    with pytest.raises(Surprise) as found:
        expect([], "nobody answered")
    narrator.surprise(str(found.value), "log")
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert lines == [
        {
            "step": 1,
            "chapter": "They meet",
            "told": "The agent says hello.",
            "facts": {"status": 200},
        },
        {"result": "surprise", "steps": 1, "reason": "nobody answered", "log": "log"},
    ]


def test_the_demo_agent_is_a_site_of_its_own_and_needs_nothing_of_the_shops() -> None:
    code = "import django; django.setup(); import example_project.demo_agent.urls"
    environment = {"DJANGO_SETTINGS_MODULE": "example_project.demo_agent.settings", "PATH": ""}
    subprocess.run([sys.executable, "-c", code], cwd=PROJECT, env=environment, check=True)
