"""The demo agent: a newcomer clicks through it and sees what the protocol does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from example_project.tour.server import Server
from tests.browser_story.tabs import Tabs, picture
from tests.browser_story.test_pages import SCHEMES, check


class Clicks:
    """A person in front of the demo agent."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def press(self, words: str) -> None:
        self.page.get_by_role("button", name=words, exact=True).click()

    def sees(self, words: str) -> None:
        self.page.get_by_text(words).first.wait_for()

    def heading(self) -> str:
        text: str = self.page.locator("#now").inner_text()
        return text

    def step(self) -> str:
        text: str = self.page.locator("[aria-current=step]").inner_text()
        return text


@pytest.fixture
def clicks(shop: Server, request: pytest.FixtureRequest, chromium: Any) -> Iterator[Clicks]:
    options = getattr(request, "param", {})
    with Tabs(chromium, viewport={"width": 1280, "height": 900}, **options) as tabs:
        page = tabs.open(f"http://127.0.0.1:{shop.port + 1}/")
        begin_again = page.get_by_role("button", name="Begin again")
        if begin_again.count():
            begin_again.click()
        yield Clicks(page)


BOTH = pytest.mark.parametrize(
    "clicks", [{"java_script_enabled": True}, {"java_script_enabled": False}], indirect=True
)


@BOTH
def test_a_newcomer_approves_an_exchange_and_sees_it_on_the_wire(clicks: Clicks) -> None:
    clicks.press("Let the agent's browser into the shop")
    assert (clicks.heading(), clicks.step()) == ("Ask for an exchange", "Ask")
    clicks.press("Send the form in the shop")
    assert (clicks.heading(), clicks.step()) == ("Do you approve this?", "Read")
    card = clicks.page.locator(".question")
    assert "Stormline" in card.inner_text()
    assert "for $70.00 more than ordered" in card.inner_text()
    assert card.get_by_role("row", name="price_difference 70.00 USD").is_visible()
    clicks.sees("403 Forbidden")

    clicks.press("Approve these terms")
    assert (clicks.heading(), clicks.step()) == ("Approved, and not done yet", "Approve")
    newest = clicks.page.locator("details.exchange").first
    assert 'approver="user"' in newest.inner_text()
    assert "204 No Content" in newest.inner_text()

    clicks.press("The browser presses Continue")
    assert (clicks.heading(), clicks.step()) == ("Done, once", "Done")
    clicks.sees("I asked about the earlier operation: it is performed.")
    picture_of = clicks.page.frame_locator("iframe")
    picture_of.get_by_text("The item is exchanged.").wait_for()

    clicks.press("Send the form in the shop")
    clicks.sees("That was done already. I do not approve it a second time.")
    assert clicks.heading() == "Done, once"


def test_new_terms_are_shown_beside_the_earlier_ones(clicks: Clicks) -> None:
    clicks.press("Let the agent's browser into the shop")
    clicks.press("Send the form in the shop")
    clicks.press("Approve these terms")
    clicks.press("The shop raises the price")
    clicks.press("The browser presses Continue")

    assert clicks.heading() == "The terms have changed. Do you approve the new ones?"
    changed = clicks.page.locator("tr.changed")
    assert changed.inner_text().split() == ["price_difference", "70.00", "USD", "75.00", "USD"]
    picture(clicks.page, "demo-agent-new-terms")

    clicks.press("Approve these terms")
    clicks.press("The browser presses Continue")
    assert clicks.heading() == "Done, once"
    clicks.page.frame_locator("iframe").get_by_text("$75.00").wait_for()


def test_an_instruction_approves_what_it_covers_and_only_once(clicks: Clicks) -> None:
    clicks.press("Let the agent's browser into the shop")
    clicks.press("Give this instruction")
    clicks.sees("Go ahead with any exchange under $100, without asking me.")
    clicks.press("Send the form in the shop")
    assert clicks.heading() == "Approved, and not done yet"
    clicks.sees("The agent approved these terms, as you instructed.")
    wire = clicks.page.locator("details.exchange").first.inner_text()
    assert 'approver="agent"' in wire
    assert "input_type" not in wire

    clicks.press("The shop raises the price")
    clicks.press("The browser presses Continue")
    assert clicks.heading() == "The terms have changed. Do you approve the new ones?"
    clicks.sees("The terms changed after I approved on your instruction, so I ask you.")
    clicks.press("No, leave it")
    clicks.sees("I send nothing. Without an approval the shop does nothing.")


def test_what_an_instruction_does_not_cover_is_asked(clicks: Clicks) -> None:
    clicks.press("Let the agent's browser into the shop")
    clicks.page.get_by_label("Any exchange under $").fill("50")
    clicks.press("Give this instruction")
    clicks.press("Send the form in the shop")
    assert clicks.heading() == "Do you approve this?"
    clicks.sees("70.00 USD is not under $50, so I ask you.")
    clicks.press("Withdraw it: ask me every time")
    clicks.page.get_by_label("Any exchange under $").fill("all of it")
    clicks.press("Give this instruction")
    clicks.sees("An instruction names an amount, such as 100.")


@SCHEMES
def test_the_demo_agent_can_be_read(scheme: str, shop: Server, chromium: Any) -> None:
    with Tabs(chromium, color_scheme=scheme, viewport={"width": 1280, "height": 1150}) as tabs:
        clicks = Clicks(tabs.open(f"http://127.0.0.1:{shop.port + 1}/"))
        if clicks.page.get_by_role("button", name="Begin again").count():
            clicks.press("Begin again")
        check(clicks.page)
        picture(clicks.page, f"demo-agent-begin-{scheme}")
        for name, words in {
            "joined": "Let the agent's browser into the shop",
            "asks": "Send the form in the shop",
            "approved": "Approve these terms",
            "done": "The browser presses Continue",
        }.items():
            clicks.press(words)
            picture(clicks.page, f"demo-agent-{name}-{scheme}")
            check(clicks.page)
