"""What sites use to ask: their own scripts, htmx, and Turbo with and without frames."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser_story.agent import AgentAtWork
from tests.browser_story.site_pages import serve_site_pages
from tests.browser_story.tabs import Tabs, problems_of

RESERVED = "Reserved. Your reservation is"


@pytest.fixture
def site(tabs: Tabs, agent: AgentAtWork) -> Any:
    """Opens a page of the site in the agent's browser."""

    def open_page(name: str) -> Any:
        page = tabs.open(agent.ticket("/reservations/"))
        serve_site_pages(tabs.context)
        page.goto(f"{agent.server.url}/site/{name}")
        return page

    return open_page


def reserve(page: Any) -> None:
    page.get_by_role("button", name="Reserve").click()


@pytest.mark.requirement("OPS-4-36", "OPS-4-37")
def test_a_script_of_the_site_waits_and_asks_again(
    site: Any, tabs: Tabs, agent: AgentAtWork
) -> None:
    page = site("fetch")
    reserve(page)
    page.get_by_text("waiting", exact=True).wait_for()
    assert tabs.refusals == [403]

    agent.approve(tabs.ref)

    page.get_by_text("200 http").wait_for()
    assert agent.effects() == ["reservation"]


def test_of_two_scripts_one_asks_again_and_the_other_learns_why_not(
    site: Any, tabs: Tabs, agent: AgentAtWork
) -> None:
    first, second = site("fetch"), site("fetch")
    for page in (first, second):
        reserve(page)
        page.get_by_text("waiting", exact=True).wait_for()

    agent.approve(tabs.ref)

    told = []
    for page in (first, second):
        page.bring_to_front()
        page.get_by_text("00 http").or_(page.get_by_text("403")).wait_for()
        told.append(page.locator("#state").inner_text())
    assert sorted(one.split()[0] for one in told) == ["200", "403"]
    assert max(told) in {"403 approved", "403 performed"}
    assert agent.effects() == ["reservation"]


def test_a_script_is_told_what_to_do_although_a_proxy_replaced_the_body(
    site: Any, tabs: Tabs, agent: AgentAtWork
) -> None:
    page = site("fetch")

    def replace(route: Any) -> None:
        answer = route.fetch(max_redirects=0)
        if answer.status == 403:
            route.fulfill(response=answer, body="<p>Error 403", content_type="text/html")
        else:
            route.fulfill(response=answer)

    page.route("**/reservations/", replace)
    reserve(page)
    page.get_by_text("waiting", exact=True).wait_for()
    page.unroute("**/reservations/")
    agent.approve(tabs.ref)

    page.get_by_text("200 http").wait_for()
    assert agent.effects() == ["reservation"]


def test_htmx_shows_what_waits_and_is_asked_again(
    site: Any, tabs: Tabs, agent: AgentAtWork
) -> None:
    page = site("htmx")
    reserve(page)
    notice = page.get_by_role("alert")
    notice.get_by_role("heading", name="Waiting for approval").wait_for()
    notice.get_by_text("This page looks for the approval.").wait_for()
    assert page.get_by_role("heading", name="With htmx").is_visible()
    assert problems_of(page) == []
    assert tabs.refusals == [403]

    agent.approve(tabs.ref)
    notice.get_by_text("It is approved.").wait_for()
    reserve(page)

    page.get_by_text(RESERVED).wait_for()
    assert agent.effects() == ["reservation"]


@pytest.mark.parametrize("kind", ["boosted", "turbo", "frame"])
def test_what_replaces_a_part_of_the_page_continues_too(
    kind: str, site: Any, tabs: Tabs, agent: AgentAtWork
) -> None:
    page = site(kind)
    reserve(page)
    page.get_by_role("heading", name="Waiting for approval").wait_for()
    page.get_by_text("This page looks for the approval, and then").wait_for()
    assert page.get_by_role("heading", name="With a frame").count() == (kind == "frame")
    assert problems_of(page) == []
    assert tabs.refusals == [403]

    with page.expect_response(lambda one: one.request.method == "POST") as posted:
        agent.approve(tabs.ref)

    assert posted.value.status == 303
    if kind == "frame":  # The shop's page has none, and Turbo complains of that.
        page.get_by_text("Content missing").wait_for()
        tabs.faults = [fault for fault in tabs.faults if '<turbo-frame id="cart">' not in fault]
    else:
        page.get_by_text(RESERVED).wait_for()
    assert agent.effects() == ["reservation"]


@pytest.mark.parametrize("kind", ["boosted", "turbo", "frame"])
def test_the_button_works_there_too(kind: str, site: Any, tabs: Tabs, agent: AgentAtWork) -> None:
    page = site(kind)
    reserve(page)
    page.get_by_text("This page looks for the approval, and then").wait_for()

    with page.expect_response(lambda one: one.request.method == "POST") as posted:
        page.get_by_role("button", name="Continue").click()

    assert posted.value.status == 403
    assert len(set(tabs.references)) == 1


GIVE_UP = """() => {
    const state = document.querySelector("#state");
    window.stop = new AbortController();
    const token = document.cookie.match(/csrftoken=([^;]*)/)[1];
    poppyOperations.fetch("/reservations/", {
        method: "POST",
        body: new URLSearchParams({ sku: "squall-cap", quantity: "2" }),
        headers: { "X-CSRFToken": token },
        signal: window.stop.signal,
    }).catch((error) => { state.textContent = `gave up: ${error.name}`; });
}"""


def test_a_script_can_give_up_waiting(site: Any, agent: AgentAtWork) -> None:
    page = site("fetch")
    page.evaluate(GIVE_UP)
    page.get_by_text("waiting", exact=True).wait_for()

    page.evaluate("window.stop.abort()")

    page.get_by_text("gave up: AbortError").wait_for()
    assert agent.effects() == []
