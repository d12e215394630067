"""Every page that people see: nothing serious for axe, light and dark, and whole at 320 px."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpRequest
from django.test import RequestFactory

from poppy_operations.gate.answers import (
    Answer,
    ApprovalRequired,
    ErrorAnswer,
    PlainlyPerformed,
    StillPerforming,
    Undeclared,
)
from poppy_operations.protocol.interfaces import WEBSITE
from poppy_operations.protocol.operation import ReturnedOperation
from poppy_operations.responses import respond
from tests.browser_story.agent import AgentAtWork
from tests.browser_story.tabs import SMALL, Tabs, picture, problems_of, sideways

OPERATION = ReturnedOperation("buy_1", "1-a", "{}", 1791487200, None)
FORM = "application/x-www-form-urlencoded"
WAITING = ApprovalRequired(OPERATION, sid="ses_1", ref="r", watch="watched")
CONTINUED = "poppy_operations.continued:/poppy/waiting/watched"
SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])


def _form(**files: Any) -> HttpRequest:
    referrer = {"referer": "http://testserver/orders/"}
    if files:
        return RequestFactory().post("/buy/", files, headers=referrer)
    return RequestFactory().post("/buy/", "sku=jacket", FORM, headers=referrer)


def _upload() -> HttpRequest:
    from django.core.files.uploadedfile import SimpleUploadedFile

    return _form(photo=SimpleUploadedFile("a.png", b"png"))


OURS: dict[str, tuple[Answer, Callable[[], HttpRequest]]] = {
    "waiting": (WAITING, _form),
    "not-repeatable": (WAITING, _upload),
    "under-way": (
        ApprovalRequired(OPERATION, sid="ses_1", ref="r", watch="watched", under_way=True),
        _form,
    ),
    "performing": (StillPerforming("buy_1", 2), _form),
    "done": (PlainlyPerformed("buy_1"), _form),
    "undeclared": (Undeclared(), _form),
    "later": (ErrorAnswer("rate_limited", headers={"Retry-After": "3"}), _form),
}


def check(page: Any) -> None:
    """Look at a page in a wide window, and in a small one."""
    assert problems_of(page) == []
    wide = page.viewport_size
    page.set_viewport_size(SMALL)
    assert sideways(page) == 0
    assert problems_of(page) == []
    page.set_viewport_size(wide)


def shown(page: Any, url: str, name: str) -> None:
    """Show an answer of ours on the shop's origin, which has the style sheet."""
    answer, request = OURS[name]
    response: Any = respond(answer, request(), WEBSITE)
    page.route(
        "**/shown",
        lambda route: route.fulfill(
            status=response.status_code,
            body=response.content,
            headers={
                "Content-Type": "text/html; charset=utf-8",
                "Content-Security-Policy": "default-src 'self'",
            },
        ),
    )
    page.goto(f"{url}/shown")


@SCHEMES
@pytest.mark.parametrize("state", ["approved", "performing", "performed", "unknown"])
def test_what_the_waiting_page_finds_out_can_be_read(
    state: str, scheme: str, chromium: Any, demo: Any
) -> None:
    with Tabs(chromium, color_scheme=scheme) as tabs:
        page = tabs.context.new_page()
        page.route("**/poppy/waiting/*", lambda route: route.fulfill(json={"status": state}))
        page.add_init_script(
            "localStorage.setItem('poppy_operations.continued:/poppy/waiting/watched', 1)"
        )
        shown(page, demo.url, "waiting")
        page.locator(f"[data-poppy-when={state}]").wait_for()
        check(page)
        picture(page, f"page-{state}-{scheme}")


@SCHEMES
@pytest.mark.parametrize("name", OURS)
def test_our_pages_can_be_read(name: str, scheme: str, chromium: Any, demo: Any) -> None:
    with Tabs(chromium, color_scheme=scheme) as tabs:
        page = tabs.context.new_page()
        page.route("**/poppy/waiting/*", lambda route: route.fulfill(json={"status": "waiting"}))
        shown(page, demo.url, name)
        check(page)
        picture(page, f"page-{name}-{scheme}")


@SCHEMES
def test_the_pages_of_a_join_can_be_read(scheme: str, chromium: Any, agent: AgentAtWork) -> None:
    with Tabs(chromium, color_scheme=scheme) as tabs:
        page = tabs.open(f"{agent.server.url}/accounts/login/")
        check(page)
        picture(page, f"shop-login-{scheme}")
        page.get_by_label("Username").fill("bob")
        page.get_by_label("Password").fill("demo-password")
        page.get_by_role("button", name="Sign in").click()
        page.goto(agent.ticket())
        page.get_by_role("button", name="Join this browser").wait_for()
        check(page)
        picture(page, f"join-{scheme}")
        page.get_by_role("button", name="Join this browser").click()
        page.get_by_role("heading", name="Order ord_7Hk2").wait_for()
        page.goto(f"{agent.server.url}/poppy/join/{'x' * 40}")
        page.get_by_role("heading", name="This address cannot be used").wait_for()
        check(page)
        picture(page, f"join-used-{scheme}")


@SCHEMES
def test_the_pages_of_the_shop_can_be_read(scheme: str, chromium: Any, agent: AgentAtWork) -> None:
    with Tabs(chromium, color_scheme=scheme) as tabs:
        page = tabs.open(agent.ticket("/"))
        check(page)
        picture(page, f"shop-home-{scheme}", full_page=True)
        page.get_by_role("link", name="Order ord_7Hk2").click()
        check(page)
        picture(page, f"shop-order-{scheme}", full_page=True)
        page.get_by_role("button", name="Exchange this item").click()
        page.get_by_label("Exchange for").select_option("stormline-insulated-m")
        page.get_by_role("button", name="Exchange this item").click()
        page.get_by_role("heading", name="Waiting for approval").wait_for()
        agent.approve(tabs.ref)
        page.get_by_text("The item is exchanged.").wait_for()
        check(page)
        picture(page, f"shop-exchanged-{scheme}", full_page=True)
        page.get_by_role("link", name="Reservations").click()
        check(page)
        picture(page, f"shop-reservations-{scheme}", full_page=True)
