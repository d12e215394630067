"""What tests of every site ask of browsers."""

from __future__ import annotations

from typing import Any

from django.test import Client

from tests.agents import ORDER, SessionOf, reference

BUY = "/buy/"


def bought(quantity: int) -> str:
    """The effect of an order, as it is noted."""
    return f"shop.buy {quantity} jacket"


def is_an_agents(browser: Client) -> bool:
    """Whether a gated view keeps the browser out as an agent's.

    With a reference where the site handles it as a Session, with a plain refusal where not.
    """
    response = browser.post(BUY, ORDER)
    if "Poppy-Operation" in response:
        assert all(reference(response))
    return response.status_code == 403


def whose(browser: Client) -> str:
    """The user that the site takes the browser's request for."""
    return browser.get("/plain/").content.decode()


def ask_for_ticket(session: SessionOf) -> Any:
    """The answer to an agent that wants to join a browser."""
    return session.client.post(
        "/poppy/join", "", content_type="application/json", headers=session.headers()
    )


def open_ticket(session: SessionOf, browser: Client) -> Any:
    """Let a browser open the address of a new ticket, whatever comes of it."""
    path = "/" + ask_for_ticket(session).json()["url"].split("/", 3)[3]
    return browser.get(path, headers={"Sec-Fetch-Site": "none"})
