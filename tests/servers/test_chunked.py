"""A body in chunks, without a length, is read whole or refused, also by real servers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from urllib.parse import urlencode

import pytest

from example_project.tour.web import Answer, send
from tests.servers.shop import EXCHANGE, EXCHANGES, ORDER, SessionAt, Shop, ref_in

pytestmark = pytest.mark.servers
INVALID = (400, {"error": "invalid_request"})


@pytest.fixture
def agent(shop: Shop, request: pytest.FixtureRequest) -> SessionAt:
    """A Session with nothing to it yet."""
    return SessionAt(shop, request.node.originalname)


def in_chunks(url: str, headers: Mapping[str, str], content: str) -> Answer:
    """Send a request whose body comes in two chunks."""
    body = content.encode()
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:9], body[9:], b""))
    return send("POST", url, {**headers, "Transfer-Encoding": "chunked"}, chunks)


def told(answer: Answer) -> tuple[int, object]:
    """Status and body of an answer in JSON."""
    return answer.status, answer.json()


def test_an_apis_body_is_refused(agent: SessionAt) -> None:
    url = agent.shop.server.url + EXCHANGES
    # Django REST framework looks for a length, whatever serves it.
    assert told(in_chunks(url, agent.headers(), json.dumps(EXCHANGE))) == INVALID
    assert agent.shop.new_effects() == []


def test_a_browsers_form_is_read_or_refused(agent: SessionAt) -> None:
    agent.join()
    path = f"/orders/{ORDER}/exchange/"
    content = urlencode(EXCHANGE)
    answer = in_chunks(agent.shop.server.url + path, agent.browser_headers(), content)
    if agent.shop.is_asgi:
        assert ref_in(answer)
    else:
        assert told(answer) == INVALID
    assert agent.shop.new_effects() == []


def test_a_wish_for_a_ticket_is_read_or_refused(agent: SessionAt) -> None:
    url = agent.shop.server.url + "/poppy/join"
    answer = in_chunks(url, agent.headers(), json.dumps({"return_to": f"/orders/{ORDER}/"}))
    if agent.shop.is_asgi:
        agent.browser.open(answer.json()["url"])
        assert agent.browser.page.url == f"{agent.shop.server.url}/orders/{ORDER}/"
    else:
        assert told(answer) == INVALID
