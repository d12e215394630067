"""The demo agent says that something was done only if the shop's endpoint does."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from example_project.demo_agent import companion as module
from example_project.demo_agent.companion import Companion
from example_project.demo_agent.endpoint import told_by
from example_project.tour.agent import CLIENT_ID
from example_project.tour.browser import Browser
from example_project.tour.server import Server
from example_project.tour.web import Answer


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A shop of these tests' own: they revoke its agent."""
    with Server() as server:
        yield server


@pytest.fixture
def companion(shop: Server, monkeypatch: pytest.MonkeyPatch) -> Companion:
    """The demo agent, whose shop is the running one."""
    monkeypatch.setattr(module, "_staff", shop.command)
    return Companion(shop.url)


def told(companion: Companion) -> str:
    """All that it has told so far."""
    return "\n".join(f"{moment.who}: {moment.what}" for moment in companion.moments)


def do(companion: Companion, *steps: str) -> None:
    """Click through some steps, none of which goes wrong."""
    for step in steps:
        companion.do(step, {})
    assert "problem:" not in told(companion), told(companion)


def exchanges(shop: Server) -> list[str]:
    """The exchanges that really happened."""
    return [line for line in shop.command("demo_effects").splitlines() if "exchange" in line]


def test_what_was_done_is_done_once(companion: Companion, shop: Server) -> None:
    do(companion, "join", "ask", "approve")
    assert (companion.step, companion.is_done) == (3, False)
    do(companion, "continue")
    assert (companion.step, companion.is_done) == (4, True)
    do(companion, "ask")
    assert "That was done already." in told(companion)
    assert (companion.step, len(exchanges(shop))) == (4, 1)


def test_after_a_revocation_nothing_is_told_as_done_and_begin_again_heals_the_demo(
    companion: Companion, shop: Server
) -> None:
    do(companion, "join", "ask", "approve")
    shop.command("poppy_agents", "revoke", CLIENT_ID)
    do(companion, "continue")
    assert "the shop does not say (invalid_session)" in told(companion)
    assert "I am no longer signed in to the shop." in told(companion)
    assert (companion.step, companion.browser, exchanges(shop)) == (1, None, [])

    companion.do("join", {})
    assert "it has to be allowed again expressly" in companion.moments[-1].what
    assert companion.browser is None

    another = Companion(shop.url)  # another process of the demo
    another.do("join", {})
    assert another.browser is None
    do(another, "begin-again", "join", "ask", "approve", "continue")
    assert (another.step, len(exchanges(shop))) == (4, 1)


def sign_out(companion: Companion) -> None:
    """End the join by a sign-out in another tab of the agent's browser."""
    assert companion.browser is not None
    tab = Browser()
    tab.cookies = companion.browser.cookies
    tab.open(f"{companion.shop}/")
    tab.submit(next(form for form in tab.page.forms if "logout" in form.action))


def test_after_a_join_has_ended_what_was_approved_waits_and_is_done_after_another_join(
    companion: Companion, shop: Server
) -> None:
    do(companion, "join", "ask", "approve")
    sign_out(companion)
    do(companion, "continue")
    assert "I asked about the earlier operation: it is approved, and not done." in told(companion)
    assert "I am no longer signed in to the shop." in told(companion)
    assert (companion.browser, companion.is_done, exchanges(shop)) == (None, False, [])

    do(companion, "join", "continue")
    assert (companion.step, len(exchanges(shop))) == (4, 1)


def test_what_nobody_approved_is_not_told_as_done_once_a_join_has_ended(
    companion: Companion, shop: Server
) -> None:
    do(companion, "join", "ask")
    sign_out(companion)
    do(companion, "continue")
    assert "it waits for an approval, and is not done" in told(companion)
    assert companion.step == 2

    do(companion, "join")
    sign_out(companion)
    do(companion, "ask")
    assert (companion.browser, companion.is_done, exchanges(shop)) == (None, False, [])


def test_an_approval_that_is_not_recorded_is_told_as_such(
    companion: Companion, shop: Server
) -> None:
    do(companion, "join", "ask")
    shop.command("poppy_agents", "revoke", CLIENT_ID)
    do(companion, "approve")
    assert "I sent an approval, as you said, and it is not on record." in told(companion)
    assert "I approved exactly these terms" not in told(companion)
    assert (companion.question, companion.is_done) == (None, False)


def test_a_ticket_that_was_used_lets_nobody_in(
    companion: Companion, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Browser.open

    def twice(browser: Browser, url: str) -> Answer:
        if "/join/" in url:
            opened(Browser(), url)
        return opened(browser, url)

    monkeypatch.setattr(Browser, "open", twice)
    do(companion, "join")
    assert companion.moments[-1].what == "I used the ticket, and am not signed in."
    assert companion.browser is None


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (204, None, "my approval is on record"),
        (200, {"status": "performed"}, "it is performed"),
        (
            200,
            {"status": "performing"},
            "it is being performed, or nobody knows yet whether it was",
        ),
        (200, {"status": "approved"}, "it is approved, and not done"),
        (403, {"error": "approval_required", "operation": {}}, "it waits for an approval, and is"),
        (400, {"error": "invalid_request"}, "the shop does not know it any more"),
        (403, {"error": "invalid_session"}, "the shop does not say (invalid_session)"),
        (403, {"error": "approval_required"}, "the shop does not say (approval_required)"),
        (503, {"error": "temporarily_unavailable"}, "does not say (temporarily_unavailable)"),
        (503, {"status": "performing"}, "the shop does not say (POST /poppy/operations -> 503)"),
        (200, {"status": "done"}, "the shop does not say (POST /poppy/operations -> 200)"),
        (200, ["performed"], "the shop does not say (POST /poppy/operations -> 200)"),
        (200, "Welcome", "the shop does not say (POST /poppy/operations -> 200)"),
    ],
)
def test_nothing_but_an_answer_of_the_endpoint_says_where_an_operation_stands(
    status: int, body: object, words: str
) -> None:
    sent = b"" if body is None else json.dumps(body).encode()
    answer = Answer("POST", "http://shop.example/poppy/operations", status, (), sent)
    assert words in told_by(answer).words
