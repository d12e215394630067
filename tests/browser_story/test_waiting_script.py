"""The waiting page's script, in a real browser under a strict content security policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from django.http import HttpRequest
from django.test import RequestFactory
from django.views.decorators.debug import sensitive_post_parameters

import poppy_operations
from poppy_operations.gate.answers import ApprovalRequired
from poppy_operations.protocol.interfaces import WEBSITE
from poppy_operations.protocol.operation import ReturnedOperation
from poppy_operations.responses import respond

ORIGIN = "https://shop.example"
STATIC = Path(poppy_operations.__file__).parent / "static"
OPERATION = ReturnedOperation("buy_1", "1-a", "{}", 1791487200, None)
# A field may be called as a form's own method is.
FORM = "sku=jacket&sku=hat&submit=Buy+now&csrfmiddlewaretoken=old"


HIDE = """hidden => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


# Gives what the page does with an answer the time to happen; no timer of a clock that stands still.
SETTLED = """async () => {
    for (let round = 0; round < 50; round++) {
        await new Promise(done => {
            const { port1, port2 } = new MessageChannel();
            port1.onmessage = done;
            port2.postMessage(null);
        });
    }
}"""


class Shop:
    """A site that exists in the browser only: a page that waits, its question, and what follows."""

    def __init__(self, request: HttpRequest) -> None:
        answer = ApprovalRequired(OPERATION, sid="ses_1", ref="r", watch="watched")
        self.response: Any = respond(answer, request, WEBSITE)
        self.status = "waiting"
        self.asked = 0
        self.received: list[tuple[str, list[tuple[str, str]]]] = []

    def answer(self, route: Any) -> None:
        """Answer one request of the browser."""
        request = route.request
        path = urlsplit(request.url).path
        if path.startswith("/static/"):
            route.fulfill(path=STATIC / path.removeprefix("/static/"))
        elif path == "/poppy/waiting/watched":
            self.asked += 1
            if self.status == "broken":
                route.abort()
            elif self.status == "later":
                route.fulfill(status=503, json={"status": "later"})
            else:
                route.fulfill(json={"status": self.status})
        elif path == "/page":
            route.fulfill(
                status=403,
                body=self.response.content,
                headers={
                    "Content-Type": "text/html; charset=utf-8",
                    "Content-Security-Policy": "default-src 'self'",
                },
            )
        else:
            self.received.append((request.method, parse_qsl(request.post_data or "")))
            route.fulfill(body="<title>Thanks</title>", content_type="text/html")


@pytest.fixture
def request_of_a_form() -> HttpRequest:
    return RequestFactory().post("/buy/?a=1", FORM, "application/x-www-form-urlencoded")


@pytest.fixture
def shop(request_of_a_form: HttpRequest) -> Shop:
    return Shop(request_of_a_form)


@pytest.fixture
def opened(chromium: Any) -> Iterator[Callable[[Shop], Any]]:
    """Open a shop's page in a tab of one browser, with a clock that the test turns."""
    context = chromium.new_context()
    faults: list[str] = []

    def open_page(shop: Shop) -> Any:
        page = context.new_page()
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.route("**/*", shop.answer)
        # It stands still but where the test turns it: a slow machine asks no more often.
        page.clock.install(time=0)
        page.clock.pause_at(1000)
        page.goto(f"{ORIGIN}/page")
        return page

    yield open_page
    context.close()
    assert [fault for fault in faults if "403" not in fault and "503" not in fault] == []


def wait(page: Any, shop: Shop, questions: int = 1, ms: int = 15_000) -> None:
    """Turn the clock until the page has asked so many times more."""
    for _ in range(questions):
        with page.expect_request("**/poppy/waiting/watched") as asked:
            page.clock.run_for(ms)
        asked.value.response().finished()
        page.evaluate(SETTLED)


@pytest.mark.requirement("OPS-6-56")
def test_an_approved_action_is_continued_without_a_click(
    shop: Shop, opened: Callable[[Shop], Any]
) -> None:
    page = opened(shop)
    wait(page, shop)
    assert shop.received == []

    shop.status = "approved"
    with page.expect_navigation():
        page.clock.run_for(15_000)

    assert page.title() == "Thanks"
    ((method, fields),) = shop.received
    assert method == "POST"
    assert [field for field in fields if field[0] != "csrfmiddlewaretoken"] == [
        ("sku", "jacket"),
        ("sku", "hat"),
        ("submit", "Buy now"),
    ]
    assert dict(fields)["csrfmiddlewaretoken"] != "old"


def test_one_tab_continues_and_only_once(shop: Shop, opened: Callable[[Shop], Any]) -> None:
    first, second = opened(shop), opened(shop)
    shop.status = "approved"
    with first.context.expect_event("request", lambda one: one.method == "POST") as posted:
        first.clock.run_for(15_000)  # the clock of both
    other = second if posted.value.frame.page is first else first
    other.get_by_text("It is approved.").wait_for()
    wait(other, shop, 3)

    third = opened(shop)
    wait(third, shop, 3)

    assert len(shop.received) == 1
    assert third.get_by_role("button", name="Continue").is_visible()


def test_the_page_says_what_became_of_it_and_stops_asking(
    shop: Shop, opened: Callable[[Shop], Any]
) -> None:
    page = opened(shop)
    shop.status = "performing"
    wait(page, shop)
    page.get_by_text("It is being done.").wait_for()
    shop.status = "performed"
    wait(page, shop)
    page.get_by_text("It is done.").wait_for()
    assert page.get_by_role("heading").inner_text() == page.title() == "Done"
    assert page.get_by_text("Nothing has been done yet.").is_hidden()
    assert page.get_by_role("button", name="Continue").is_hidden()
    asked = shop.asked

    page.clock.run_for(60_000)

    assert shop.asked == asked
    assert shop.received == []


def test_the_page_stops_asking_for_what_is_unknown(
    shop: Shop, opened: Callable[[Shop], Any]
) -> None:
    page = opened(shop)
    shop.status = "unknown"
    wait(page, shop)
    page.get_by_text("To ask for approval again, continue.").wait_for()
    assert page.get_by_role("heading").inner_text() == page.title() == "No longer waiting"

    page.clock.run_for(60_000)

    assert shop.asked == 1
    assert page.get_by_role("button", name="Continue").is_visible()


def test_the_page_asks_less_and_less_often_and_survives_faults(
    shop: Shop, opened: Callable[[Shop], Any]
) -> None:
    page = opened(shop)
    page.clock.run_for(1_900)
    assert shop.asked == 0
    wait(page, shop, ms=200)
    shop.status = "later"
    wait(page, shop, ms=3_000)
    shop.status = "waiting"
    wait(page, shop, 6)
    page.clock.run_for(14_000)
    assert shop.asked == 8
    wait(page, shop, ms=1_100)


def test_a_tab_in_the_background_does_not_ask(shop: Shop, opened: Callable[[Shop], Any]) -> None:
    page = opened(shop)
    page.evaluate(HIDE, True)
    page.clock.run_for(120_000)
    assert shop.asked == 0

    page.evaluate(HIDE, False)
    wait(page, shop, ms=2_100)

    assert shop.asked == 1


def test_the_button_continues_without_the_script(shop: Shop, chromium: Any) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.route("**/*", shop.answer)
    page.goto(f"{ORIGIN}/page")
    assert page.get_by_text("It is approved.").is_hidden()

    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/buy/?a=1")

    assert [method for method, _ in shop.received] == ["POST"]
    context.close()


def test_what_cannot_be_repeated_is_left_to_the_person(
    request_of_a_form: HttpRequest, opened: Callable[[Shop], Any]
) -> None:
    sensitive_post_parameters("sku")(lambda request: None)(request_of_a_form)  # type: ignore[arg-type,return-value]  # a view in name only
    shop = Shop(request_of_a_form)
    page = opened(shop)
    shop.status = "approved"
    wait(page, shop)
    page.get_by_text("It is approved.").wait_for()

    assert shop.received == []
    assert page.get_by_role("button").count() == 0
    assert page.get_by_text("Once it is approved there, go back").is_visible()


# What the script, a form's own parts and the scripts of pages call or set on forms.
MEMBERS = (
    "querySelector", "querySelectorAll", "hidden", "dataset", "submit", "requestSubmit", "action",
    "method", "elements", "closest", "matches", "getAttribute", "setAttribute", "toggleAttribute",
    "isConnected", "contains", "parentNode", "children", "nodeType", "id", "name", "value",
    "addEventListener", "constructor", "prototype", "__proto__", "length", "tagName",
)  # fmt: skip


FORM_IS_HIDDEN = """() => {
    const form = document.querySelector("[data-poppy-continue]");
    return Element.prototype.hasAttribute.call(form, "hidden");
}"""


@pytest.mark.parametrize("status", ["approved", "performing"])
def test_fields_may_be_called_as_the_members_of_a_form_are(
    status: str, opened: Callable[[Shop], Any]
) -> None:
    content = urlencode(dict.fromkeys(MEMBERS, "of a field"))
    request = RequestFactory().post("/buy/", content, "application/x-www-form-urlencoded")
    shop = Shop(request)
    page = opened(shop)
    shop.status = status
    if status == "approved":
        with page.expect_navigation():
            page.clock.run_for(15_000)
        ((_, fields),) = shop.received
        assert {name for name, _ in fields} == {*MEMBERS, "csrfmiddlewaretoken"}
    else:
        wait(page, shop)
        # Playwright's own scripts do not bear with such names.
        assert page.evaluate(FORM_IS_HIDDEN)
        assert page.title() == "In progress"
