"""The story by clicks: the agent's browser asks, the agent approves, the page carries on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser_story.agent import AgentAtWork
from tests.browser_story.tabs import Tabs, picture

WANTED = "stormline-insulated-m"
WAITING = "Waiting for approval"


def asked(tabs: Tabs, agent: AgentAtWork) -> Any:
    """Join the browser and press the button that asks for an exchange."""
    page = tabs.open(agent.ticket())
    exchange(page)
    page.get_by_role("heading", name=WAITING).wait_for()
    return page


def exchange(page: Any) -> None:
    page.get_by_label("Exchange for").select_option(WANTED)
    page.get_by_role("button", name="Exchange this item").click()


@pytest.mark.requirement("OPS-4-34", "OPS-6-55", "OPS-6-56")
def test_a_page_continues_by_itself_once_the_agent_has_approved(
    tabs: Tabs, agent: AgentAtWork
) -> None:
    page = asked(tabs, agent)
    page.get_by_text("This page looks for the approval").wait_for()
    picture(page, "waiting")
    operation = agent.look_up(tabs.ref)
    assert operation["terms"]["replacement_sku"] == WANTED
    for secret in (operation["operation_id"], operation["revision"], "70.00", tabs.ref):
        assert secret not in page.content()
    assert agent.effects() == []

    agent.approve(tabs.ref)

    page.get_by_text("The item is exchanged.").wait_for()
    assert agent.effects() == ["exchange"]
    assert agent.look_up(tabs.ref)["status"] == "performed"
    assert tabs.refusals == [403]


@pytest.mark.requirement("OPS-4-30", "OPS-6-55")
def test_without_javascript_the_button_continues(chromium: Any, agent: AgentAtWork) -> None:
    with Tabs(chromium, java_script_enabled=False) as tabs:
        page = asked(tabs, agent)
        assert page.get_by_text("This page looks for").is_hidden()
        assert page.locator(".poppy-note").is_visible()
        picture(page, "waiting-without-javascript")
        agent.approve(tabs.ref)

        page.get_by_role("button", name="Continue").click()

        page.get_by_text("The item is exchanged.").wait_for()
    assert agent.effects() == ["exchange"]


def test_a_keyboard_is_enough(chromium: Any, agent: AgentAtWork) -> None:
    with Tabs(chromium, java_script_enabled=False) as tabs:
        page = tabs.open(agent.ticket())
        page.get_by_label("Exchange for").focus()
        page.keyboard.type("Stormline Insulated Jacket (M)")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name=WAITING).wait_for()
        agent.approve(tabs.ref)

        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Continue"
        page.keyboard.press("Enter")

        page.get_by_text("The item is exchanged.").wait_for()


def test_of_two_tabs_one_continues_and_once(tabs: Tabs, agent: AgentAtWork) -> None:
    asked(tabs, agent)
    second = tabs.open(f"{agent.server.url}/orders/ord_7Hk2/")
    exchange(second)
    second.get_by_role("heading", name=WAITING).wait_for()
    assert len(set(tabs.references)) == 1
    posted: list[str] = []
    tabs.context.on("request", lambda one: posted.append(one.url) if one.method == "POST" else None)

    agent.approve(tabs.ref)
    first, second = tabs.context.pages
    for page in (first, second):
        page.bring_to_front()
        page.get_by_text("The item is exchanged.").or_(
            page.get_by_text("It is done. There is nothing more to do here.")
        ).wait_for()

    assert len(posted) == 1
    assert agent.effects() == ["exchange"]
    done = next(one for one in (first, second) if one.title() == "Done")
    assert done.get_by_role("button", name="Continue").is_hidden()
    assert done.get_by_role("heading").inner_text() == "Done"
    picture(done, "waiting-done")


def test_where_the_time_is_over_the_page_says_what_to_do(chromium: Any) -> None:
    from example_project.tour.server import Server

    with Server(POPPY_DEMO_LIFETIME="3") as server, Tabs(chromium) as tabs:
        agent = AgentAtWork(server)
        page = asked(tabs, agent)

        page.get_by_text("To ask for approval again, continue.").wait_for()
        assert page.title() == "No longer waiting"
        picture(page, "waiting-expired")
        page.get_by_role("button", name="Continue").click()

        page.get_by_role("heading", name=WAITING).wait_for()
        assert len(set(tabs.references)) == 2
        assert agent.effects() == []


def test_a_page_continues_although_its_browser_has_signed_in_anew(
    tabs: Tabs, agent: AgentAtWork
) -> None:
    page = asked(tabs, agent)
    other = tabs.open(agent.ticket())  # a new join, a new login: Django changes the CSRF token
    other.get_by_role("heading", name="Order ord_7Hk2").wait_for()
    other.close()

    agent.approve(tabs.ref)

    page.get_by_text("The item is exchanged.").wait_for()
    assert agent.effects() == ["exchange"]


def test_a_page_whose_browser_is_another_accounts_by_now_says_what_to_do(
    tabs: Tabs, agent: AgentAtWork
) -> None:
    page = asked(tabs, agent)
    tabs.open(AgentAtWork(agent.server, "bob").ticket("/")).close()

    page.get_by_text("To ask for approval again, continue. If this site refuses").wait_for()

    back = page.get_by_role("link", name="Go back to the previous page")
    assert back.get_attribute("href") == f"{agent.server.url}/orders/ord_7Hk2/"
    assert agent.effects() == []


def test_a_proxys_own_page_in_place_of_ours_does_not_stop_the_agent(
    tabs: Tabs, agent: AgentAtWork
) -> None:
    page = tabs.open(agent.ticket())

    def replace(route: Any) -> None:
        answer = route.fetch(max_redirects=0)
        if answer.status == 403:
            route.fulfill(response=answer, body="<title>Oops</title><p>Error 403")
        else:
            route.continue_()

    page.route("**/exchange/", replace)
    exchange(page)
    page.get_by_text("Error 403").wait_for()
    agent.approve(tabs.ref)
    page.unroute("**/exchange/")

    page.goto(f"{agent.server.url}/orders/ord_7Hk2/")
    exchange(page)

    page.get_by_text("The item is exchanged.").wait_for()
    assert agent.effects() == ["exchange"]
