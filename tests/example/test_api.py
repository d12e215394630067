"""What an approval at the shop's API covers, whom it serves, and what retries get."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from secrets import token_hex
from time import monotonic, sleep
from typing import Any

import pytest

from example_project.payments.gateway import Gateway
from example_project.tour.server import Server
from poppy_operations.testing.agents import PersonalAgent
from tests.example.callers import (
    OTHER_AGENT,
    Books,
    Caller,
    operation_in,
    told,
)

pytestmark = pytest.mark.servers
ORDER = "/api/orders/ord_7Hk2"
EXCHANGES, REFUNDS = f"{ORDER}/exchanges", f"{ORDER}/refunds"
RESERVATIONS, CLOSURE = "/api/reservations", "/api/account/closure"
EXCHANGE = {"item_id": "itm_4Qa", "replacement_sku": "stormline-insulated-m"}
CAPS = {"sku": "squall-cap", "quantity": 2}
TWO_CAPS = b'{"sku":"squall-cap","quantity":2}'
MADE_UP = {"operation_id": "rsv_made-up", "revision": "1-made-up", "approver": "user"}


@pytest.fixture(scope="module")
def books(server: Server) -> Books:
    return Books(server)


@pytest.fixture
def before(books: Books) -> Counter[str]:
    """What had happened before the test."""
    return books.effects()


@pytest.fixture
def alice(books: Books) -> Caller:
    """Alice's agent, to which she is a new User in each test."""
    return books.signed_in("alice", new_user_id("alice"))


@pytest.fixture
def bob(books: Books) -> Caller:
    return books.signed_in("bob", new_user_id("bob"))


def new_user_id(name: str) -> str:
    return f"usr_{name}_{token_hex(4)}"


def test_a_slow_refund_is_never_reported_as_failed_and_moves_the_money_once(
    books: Books, before: Counter[str], alice: Caller
) -> None:
    content = {"amount": "20.00", "delay_ms": 1_500}
    approval = alice.asked(REFUNDS, content)
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(alice.send, REFUNDS, content, approval)
        until = monotonic() + 20
        while books.effects() == before:
            assert monotonic() < until
            sleep(0.01)
        meanwhile = alice.send(REFUNDS, content, approval)
        unapproved = alice.send(REFUNDS, content)
    for answer in (meanwhile, unapproved):
        assert answer.status == 503
        assert int(answer.header("Retry-After") or 0) > 0
        assert "error" not in answer.json()
    again = alice.send(REFUNDS, content, approval)
    assert first.result().status == again.status == 201
    assert again.body == first.result().body
    assert books.effects() - before == {"refund": 1}


def test_a_refund_of_which_nobody_knew_is_answered_once_it_was_found_out(
    books: Books, before: Counter[str], alice: Caller
) -> None:
    content = {"amount": "0.66"}
    approval = alice.asked(REFUNDS, content)
    unknown = alice.send(REFUNDS, content, approval)
    assert (unknown.status, unknown.json()["status"]) == (503, "performing")
    # Neither a retry nor a new request moves money meanwhile.
    assert alice.send(REFUNDS, content, approval).status == 503
    assert alice.send(REFUNDS, content).status == 503
    ended = json.loads(books.server.command("poppy_reconcile", "--json"))
    assert (ended["performed"], ended["still_unknown"]) == (1, 0)
    again = alice.send(REFUNDS, content, approval)
    assert (again.status, again.json()["amount"]) == (201, {"amount": "0.66", "currency": "USD"})
    refunds = "SELECT refund_id FROM entries WHERE key = " + repr(approval["operation_id"])
    assert books.rows(refunds, "payments.sqlite3") == [(again.json()["refund_id"],)]
    assert books.effects() - before == {"refund": 1}
    assert told(alice.send(REFUNDS, content, approval)) == told(again)


def test_a_refund_that_is_refused_leaves_the_approval_good(
    books: Books, before: Counter[str], alice: Caller
) -> None:
    content = {"amount": "0.13"}
    approval = alice.asked(REFUNDS, content)
    refused = alice.send(REFUNDS, content, approval)
    assert (refused.status, refused.json()["error"]) == (422, "refund_refused")
    assert told(alice.send(REFUNDS, content, approval)) == told(refused)
    assert books.effects() == before


def test_a_key_that_was_given_up_locks_no_refund(
    books: Books, before: Counter[str], alice: Caller
) -> None:
    content = {"amount": "0.77"}
    approval = alice.asked(REFUNDS, content)
    Gateway(books.server.folder / "payments.sqlite3").bar(approval["operation_id"])
    assert alice.send(REFUNDS, content, approval).status == 503
    ended = json.loads(books.server.command("poppy_reconcile", "--json"))
    assert (ended["not_performed"], ended["still_unknown"]) == (1, 0)
    assert alice.send(REFUNDS, content, approval).status == 201
    assert books.effects() - before == {"refund": 1}


def test_a_closure_takes_its_holders_word_and_no_agents(
    books: Books, before: Counter[str], alice: Caller
) -> None:
    approval = alice.asked(CLOSURE, {}, approver="agent")
    declined = alice.send(CLOSURE, {}, approval)
    assert declined.status == 403
    body = declined.json()
    assert body.pop("alternative")["references"][0]["url"] == f"{alice.shop}/accounts/login/"
    assert body == {
        "error": "approval_declined",
        "operation_id": approval["operation_id"],
        "revision": approval["revision"],
        "reason": "Only the account holder can close this account.",
    }
    assert told(alice.send(CLOSURE, {}, approval)) == told(declined)
    assert books.effects() == before
    by_user = {**approval, "approver": "user"}
    closed = alice.send(CLOSURE, {}, by_user)
    assert (closed.status, closed.body) == (204, b"")
    assert told(alice.send(CLOSURE, {}, by_user)) == told(closed)
    assert books.effects() - before == {"closure": 1}


@pytest.mark.parametrize("performed", [False, True])
def test_foreign_ids_are_answered_like_unknown_ones_and_like_none(
    performed: bool, books: Books, before: Counter[str], alice: Caller, bob: Caller
) -> None:
    approval = alice.asked(RESERVATIONS, CAPS)
    if performed:
        assert alice.send(RESERVATIONS, CAPS, approval).status == 201
    strangers = [
        bob,
        replace(bob, user_id=alice.user_id),
        replace(alice, token=None, user_id="usr_carol"),
        books.signed_in("alice", alice.user_id, keys=OTHER_AGENT),
    ]
    for stranger in strangers:
        without = stranger.send(RESERVATIONS, CAPS)
        for other in (approval, {**approval, "approver": "agent"}, MADE_UP):
            assert told(stranger.send(RESERVATIONS, CAPS, other)) == told(without)
        own = operation_in(without)
        assert own["operation_id"] != approval["operation_id"]
        mixed = {**approval, "operation_id": own["operation_id"]}
        new = operation_in(stranger.send(RESERVATIONS, CAPS, mixed))
        assert new["operation_id"] == own["operation_id"]
    # The same User is the same owner in whatever Session; signed out there is a challenge.
    signed_out = replace(alice, token=None, sid="ses_2").send(RESERVATIONS, CAPS, approval)
    assert signed_out.status == 401
    assert (books.effects() - before).total() == performed


def test_another_accounts_order_is_answered_like_one_that_is_not_there(
    books: Books, before: Counter[str], alice: Caller, bob: Caller
) -> None:
    approval = alice.asked(EXCHANGES, EXCHANGE)
    done = alice.send(EXCHANGES, EXCHANGE, approval)
    assert done.status == 201
    nowhere = bob.send("/api/orders/ord_none/exchanges", EXCHANGE)
    assert nowhere.status == 404
    for given in (None, approval, MADE_UP):
        assert told(bob.send(EXCHANGES, EXCHANGE, given)) == told(nowhere)
    # Whoever shows less than the first time gets nothing of what was stored.
    assert replace(alice, keys=PersonalAgent()).send(EXCHANGES, EXCHANGE, approval).json() == {
        "error": "invalid_session"
    }
    assert replace(alice, token=None).send(EXCHANGES, EXCHANGE, approval).status == 401


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (RESERVATIONS, {**CAPS, "quantity": 3}),
        (RESERVATIONS, {**CAPS, "sku": "ridge-fleece-m"}),
        (RESERVATIONS, {**CAPS, "gift": True}),
        (RESERVATIONS, {**CAPS, "note": None}),
        (RESERVATIONS, {**CAPS, "Quantity": 2}),
        (f"{RESERVATIONS}?gift=1", CAPS),
        (f"{RESERVATIONS}?format=json", CAPS),
        (f"{RESERVATIONS}?_method=GET", CAPS),
    ],
)
def test_what_asks_for_anything_else_is_not_done(
    path: str, content: dict[str, Any], books: Books, before: Counter[str], alice: Caller
) -> None:
    approval = alice.asked(RESERVATIONS, CAPS)
    other = operation_in(alice.send(path, content, approval))
    assert other["revision"] != approval["revision"]
    assert books.effects() == before
    assert alice.send(RESERVATIONS, CAPS, approval).status == 201


def test_another_method_or_place_does_nothing_and_tells_nothing(
    books: Books, before: Counter[str], alice: Caller
) -> None:
    exchange = alice.asked(EXCHANGES, EXCHANGE)
    for method in ("PUT", "PATCH", "DELETE", "GET"):
        assert alice.send(EXCHANGES, EXCHANGE, exchange, method=method).status == 405
    assert alice.send(f"{EXCHANGES}/", EXCHANGE, exchange).status == 404
    assert alice.send("/api/orders/ord_9Zp4/exchanges", EXCHANGE, exchange).status == 404
    closure = operation_in(alice.send(CLOSURE, EXCHANGE, exchange))
    assert closure["operation_id"] != exchange["operation_id"]
    assert books.effects() == before
    done = alice.send(EXCHANGES, EXCHANGE, exchange)
    assert done.status == 201
    # Elsewhere it is a fact that it was performed, and no answer of that place.
    elsewhere = alice.send(CLOSURE, EXCHANGE, exchange)
    assert elsewhere.json() == {"operation_id": exchange["operation_id"], "status": "performed"}
    assert books.effects() - before == {"exchange": 1}


@pytest.mark.parametrize(
    ("path", "asked", "sent"),
    [
        (
            RESERVATIONS,
            TWO_CAPS,
            b'{"sku":"squall-cap","quantity":2.0}',
        ),
        (
            RESERVATIONS,
            TWO_CAPS,
            b'{"quantity":"2","sku":"squall-cap"}',
        ),
        (
            RESERVATIONS,
            TWO_CAPS,
            b'{"sku":"squall\\u002dcap",\n"quantity":2}',
        ),
        (REFUNDS, b'{"amount":"20.00"}', b'{"amount":20}'),
        (REFUNDS, b'{"amount":20.5}', b'{"amount":"20.50","delay_ms":0}'),
        (REFUNDS, b'{"amount":20}', b' { "amount" : 2e1 } '),
        (
            EXCHANGES,
            json.dumps({**EXCHANGE, "delay_ms": 0}).encode(),
            json.dumps(EXCHANGE).encode(),
        ),
    ],
)
def test_other_spellings_of_the_same_are_the_same(
    path: str, asked: bytes, sent: bytes, books: Books, before: Counter[str], alice: Caller
) -> None:
    approval = alice.asked(path, asked)
    done = alice.send(path, sent, approval)
    assert done.status == 201
    assert told(alice.send(path, asked, approval)) == told(done)
    assert (books.effects() - before).total() == 1


def test_a_repeated_member_counts_as_the_one_that_the_shop_reads(
    books: Books, before: Counter[str], alice: Caller
) -> None:
    approval = alice.asked(RESERVATIONS, CAPS)
    sneaky = b'{"sku":"squall-cap","quantity":2,"quantity":9}'
    nine = operation_in(alice.send(RESERVATIONS, sneaky, approval))
    assert nine["terms"]["quantity"] == 9
    assert books.effects() == before


@pytest.mark.parametrize(
    ("path", "content", "content_type"),
    [
        (RESERVATIONS, b"[" * 100_000, "application/json"),
        (RESERVATIONS, b'{"sku":' * 50_000, "application/json"),
        (CLOSURE, b"[" * 100_000, "application/json"),
        (CLOSURE, b"a" * 3_000_000, "text/plain"),
        (CLOSURE, b"{}", "application/json; charset=zlib"),
        (
            RESERVATIONS,
            b'{"sku":"squall-cap","quantity":' + b"9" * 5_000 + b"}",
            "application/json",
        ),
        (RESERVATIONS, b'{"sku":"squall-cap","quantity":1e400}', "application/json"),
    ],
    ids=["list", "object", "unread list", "unread bytes", "charset", "digits", "infinite"],
)
def test_content_that_nobody_can_read_is_a_fault_of_the_request(
    path: str, content: bytes, content_type: str, alice: Caller
) -> None:
    for approval in (None, MADE_UP):
        answer = alice.send(path, content, approval, headers={"Content-Type": content_type})
        assert (answer.status, answer.header("Content-Type")) == (400, "application/json")
