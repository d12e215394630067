"""The shop from outside, as ordinary visitors use it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from example_project.tour.browser import Browser
from example_project.tour.narration import Surprise
from example_project.tour.server import RUNSERVER, WSGI, Server
from example_project.tour.web import Answer, send

pytestmark = pytest.mark.servers
JSON = {"Content-Type": "application/json", "Accept": "application/json"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture
def shop(server: Server) -> Server:
    server.command("demo_seed", "--reset")
    return server


@pytest.fixture
def alice(shop: Server) -> Browser:
    browser = Browser()
    browser.open(f"{shop.url}/accounts/login/?next=/orders/ord_7Hk2/")
    form = browser.page.form_with("username")
    assert form is not None
    browser.submit(form, {"username": "alice", "password": "demo-password"}, form.buttons[0])
    return browser


def effects(server: Server) -> list[dict[str, Any]]:
    return [json.loads(line) for line in server.command("demo_effects").splitlines()]


def through_the_api(browser: Browser, url: str, content: object) -> Answer:
    """Send what a script of the shop's own would send."""
    cookies = {name: value for (_, name), value in browser.cookies.items()}
    headers = {
        **JSON,
        "Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items()),
        "X-CSRFToken": cookies.get("csrftoken", ""),
    }
    return send("POST", url, headers, json.dumps(content).encode())


def test_the_order_page_is_for_its_owner(shop: Server, alice: Browser) -> None:
    assert alice.page.url == f"{shop.url}/orders/ord_7Hk2/"
    assert "Stormline Jacket (M)" in alice.page.words
    assert alice.open(f"{shop.url}/orders/ord_9Zp4/").status == 404
    stranger = Browser()
    stranger.open(f"{shop.url}/orders/ord_7Hk2/")
    assert stranger.page.url.startswith(f"{shop.url}/accounts/login/")


def test_a_visitor_exchanges_an_item_at_once(shop: Server, alice: Browser) -> None:
    form = alice.page.form_with("item_id", "itm_4Qa")
    assert form is not None
    answer = alice.submit(form, {"replacement_sku": "stormline-insulated-m"}, form.buttons[0])
    assert answer.line == "GET /orders/ord_7Hk2/ -> 200"
    assert alice.answers[-2].status == 303
    assert "The item is exchanged." in alice.page.words
    (made,) = effects(shop)
    assert made["effect"] == "exchange"
    assert made["price_difference"] == {"amount": "70.00", "currency": "USD"}
    assert made["operation_id"] is None


def test_a_form_with_errors_comes_back_and_nothing_happens(shop: Server, alice: Browser) -> None:
    form = alice.page.form_with("item_id", "itm_4Qa")
    assert form is not None
    values = {"item_id": "itm_8Rt", "replacement_sku": "stormline-insulated-m"}
    assert alice.submit(form, values, form.buttons[0]).status == 422
    assert "Nothing was exchanged." in alice.page.words
    assert effects(shop) == []


def test_the_difference_counts_from_the_price_as_ordered(shop: Server, alice: Browser) -> None:
    url = f"{shop.url}/api/orders/ord_7Hk2/exchanges"
    shop.command("demo_price", "stormline-insulated-l", "140.50")
    for sku, difference in [("stormline-insulated-m", "70.00"), ("stormline-insulated-l", "-9.50")]:
        answer = through_the_api(alice, url, {"item_id": "itm_4Qa", "replacement_sku": sku})
        assert answer.status == 201
        assert answer.json()["price_difference"]["amount"] == difference


def test_anybody_reserves_something(shop: Server) -> None:
    browser = Browser()
    browser.open(f"{shop.url}/reservations/")
    form = browser.page.form_with("sku")
    assert form is not None
    browser.submit(form, {"sku": "squall-cap", "quantity": "3"}, form.buttons[0])
    assert browser.answers[-2].status == 303
    answer = through_the_api(
        Browser(), f"{shop.url}/api/reservations", {"sku": "squall-cap", "quantity": 2}
    )
    assert answer.status == 201
    assert [made["total"]["amount"] for made in effects(shop)] == ["96.00", "64.00"]


@pytest.mark.parametrize("quantity", [0, 100, "many", None, True])
def test_a_quantity_is_from_1_to_99(shop: Server, quantity: object) -> None:
    content = {"sku": "squall-cap", "quantity": quantity}
    answer = through_the_api(Browser(), f"{shop.url}/api/reservations", content)
    assert answer.status == 400
    assert "quantity" in answer.json()


@pytest.mark.parametrize("sku", ["no\0such", "\ud800", 7, None, ["a"], {"a": 1}, "unknown"])
def test_an_unknown_product_is_refused_whatever_it_is(server: Server, sku: object) -> None:
    answer = through_the_api(
        Browser(), f"{server.url}/api/reservations", {"sku": sku, "quantity": 1}
    )
    assert answer.status == 400
    assert "sku" in answer.json()


def test_money_moves_at_the_gateway(shop: Server, alice: Browser) -> None:
    url = f"{shop.url}/api/orders/ord_7Hk2/refunds"
    made = through_the_api(alice, url, {"amount": "20.00"})
    assert made.status == 201
    assert through_the_api(alice, url, {"amount": "100.01"}).status == 400
    (effect,) = effects(shop)
    assert effect["refund_id"] == made.json()["refund_id"]
    assert effect["amount"] == {"amount": "20.00", "currency": "USD"}


def test_the_gateway_refuses_an_amount_and_says_so(shop: Server, alice: Browser) -> None:
    answer = through_the_api(alice, f"{shop.url}/api/orders/ord_7Hk2/refunds", {"amount": "0.13"})
    assert answer.status == 422
    assert answer.json()["error"] == "refund_refused"
    assert effects(shop) == []


def test_an_account_is_closed_by_its_holder(shop: Server, alice: Browser) -> None:
    assert through_the_api(alice, f"{shop.url}/api/account/closure", {}).status == 204
    assert [effect["effect"] for effect in effects(shop)] == ["closure"]


def test_pages_come_with_a_strict_policy_and_their_style(server: Server) -> None:
    home = send("GET", f"{server.url}/", {})
    policy = home.header("Content-Security-Policy")
    assert policy is not None
    assert "'unsafe" not in policy
    assert "style=" not in home.text
    assert "<script" not in home.text
    assert send("GET", f"{server.url}/static/shop/shop.css", {}).status == 200


@pytest.mark.parametrize("serve", [WSGI, RUNSERVER], ids=["gunicorn", "runserver"])
def test_other_servers_serve_the_same_shop(serve: tuple[str, ...]) -> None:
    with Server(serve) as server:
        assert "Clothes for bad weather" in send("GET", f"{server.url}/", {}).text
        assert send("GET", f"{server.url}/static/shop/shop.css", {}).status == 200
        assert send("GET", f"{server.url}/static/admin/css/base.css", {}).status == 200


def test_poppy_json_is_complete(server: Server) -> None:
    document = send("GET", f"{server.url}/.well-known/poppy.json", {}).json()
    assert document["name"] == "Stormline"
    assert document["issuer"] == server.url
    assert document["web"]["browser_session_endpoint"] == f"{server.url}/poppy/join"
    assert document["extensions"] == {
        "operations": [{"version": "3", "endpoint": f"{server.url}/poppy/operations"}]
    }


def test_seeding_again_changes_nothing(shop: Server) -> None:
    before = send("GET", f"{shop.url}/", {}).text
    shop.command("demo_price", "squall-cap", "33.00")
    shop.command("demo_seed")
    assert "$33.00" in send("GET", f"{shop.url}/", {}).text
    shop.command("demo_seed", "--reset")
    assert send("GET", f"{shop.url}/", {}).text == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("demo_price", "no-such-thing", "1.00"),
        ("demo_price", "squall-cap", "dear"),
        ("demo_price", "squall-cap", "-1.00"),
        ("demo_token", "nobody", "--client-id", "https://agent.example/client"),
    ],
)
def test_a_command_that_cannot_be_done_says_why(server: Server, arguments: tuple[str, ...]) -> None:
    with pytest.raises(Surprise, match="CommandError"):
        server.command(*arguments)
